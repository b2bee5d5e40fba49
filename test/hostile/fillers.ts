import { gzipSync } from 'node:zlib'
import { hostileNames } from './hostile-names.ts'

/** Creates the text of one JSON value of about `sizeBytes` bytes. */
export type Filler = (sizeBytes: number) => string

/** `open`, then as many items as fit, separated by commas, then `close`; at most `maxItems`. */
function fill(
  open: string,
  itemOf: (index: number) => string,
  close: string,
  sizeBytes: number,
  maxItems = Number.POSITIVE_INFINITY,
): string {
  const items: string[] = []
  let length = open.length + close.length
  for (let index = 0; index < maxItems; index++) {
    const item = itemOf(index)
    length += item.length + 1
    if (length > sizeBytes && index > 0) break
    items.push(item)
  }
  return `${open}${items.join(',')}${close}`
}

/** The same member repeatedly. */
export const listOfIdentical =
  (item: string, maxItems?: number): Filler =>
  (sizeBytes) => {
    const count = Math.max(1, Math.floor((sizeBytes - 2) / (item.length + 1)))
    return `[${`${item},`.repeat(Math.min(count, maxItems ?? count) - 1)}${item}]`
  }

/** Members that are all different. */
export const listOfDistinct =
  (itemOf: (index: number) => string, maxItems?: number): Filler =>
  (sizeBytes) =>
    fill('[', itemOf, ']', sizeBytes, maxItems)

/** An object with many keys that all have this value. */
export const manyKeys =
  (value = '1', maxKeys?: number): Filler =>
  (sizeBytes) =>
    fill('{', (index) => `"k${index.toString(36)}":${value}`, '}', sizeBytes, maxKeys)

const escapedHostileText = JSON.stringify(hostileNames.map(({ text }) => text).join('')).slice(1, -1)

/** A string that repeats one letter. */
export const longString: Filler = (sizeBytes) => `"${'a'.repeat(Math.max(1, sizeBytes - 2))}"`

/**
 * A string of NUL, control characters, lone surrogates, slashes, and characters that change the text
 * direction.
 */
export const hostileString: Filler = (sizeBytes) =>
  `"${escapedHostileText.repeat(Math.max(1, Math.floor((sizeBytes - 2) / escapedHostileText.length)))}"`

/** An integer with many digits. */
export const longNumber: Filler = (sizeBytes) => '9'.repeat(Math.max(1, sizeBytes))

/** Nested lists, as deep as fits. */
const deepLists: Filler = (sizeBytes) => {
  const depth = Math.max(1, Math.floor(sizeBytes / 2))
  return `${'['.repeat(depth)}${']'.repeat(depth)}`
}

/** Nested objects, as deep as fits. */
export const deepObjects: Filler = (sizeBytes) => {
  const depth = Math.max(1, Math.floor(sizeBytes / 6))
  return `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`
}

/** Fillers for places where any value is allowed, or where the type is ignored. */
export const fillers: Readonly<Record<string, Filler>> = {
  'many keys': manyKeys(),
  'long keys': (sizeBytes) => {
    const keyLength = Math.max(8, Math.floor(Math.sqrt(sizeBytes) * 4))
    return fill('{', (index) => `"${'k'.repeat(keyLength)}${index}":1`, '}', sizeBytes)
  },
  'duplicate keys': (sizeBytes) => fill('{', () => '"k":1', '}', sizeBytes),
  'prototype keys': (sizeBytes) => fill('{', () => '"__proto__":{"constructor":1}', '}', sizeBytes),
  'array index keys': (sizeBytes) => fill('{', (index) => `"${index * 7919}":1`, '}', sizeBytes),
  'many elements': listOfIdentical('0'),
  'empty lists': listOfIdentical('[]'),
  'empty objects': listOfIdentical('{}'),
  'identical members': listOfIdentical('{"type":"x","value":"y"}'),
  'distinct members': listOfDistinct((index) => `{"type":"x${index}","value":${index}}`),
  'deep lists': deepLists,
  'deep objects': deepObjects,
  'long string': longString,
  'hostile string': hostileString,
  'long number': longNumber,
  'huge numbers': listOfIdentical('1e999999999'),
  'hostile keys': (sizeBytes) =>
    fill('{', (index) => `"${escapedHostileText}${index}":"${escapedHostileText}"`, '}', sizeBytes),
  'wrong types': listOfIdentical('true,null,-0.0,"",{},[]'),
}

/** Creates a body that is not JSON, not text, or does not match its headers. */
export const brokenBodies: Readonly<
  Record<string, (sizeBytes: number) => { readonly bytes: Buffer; readonly encoding?: string }>
> = {
  'invalid UTF-8': (sizeBytes) => ({
    bytes: Buffer.concat([
      Buffer.from('{"a":"'),
      Buffer.alloc(Math.max(1, sizeBytes - 8), Buffer.from([0xc3, 0x28, 0xed, 0xa0, 0x80, 0xff])),
      Buffer.from('"}'),
    ]),
  }),
  'truncated JSON': (sizeBytes) => ({ bytes: Buffer.from(manyKeys('[{"a":"b"}]')(sizeBytes).slice(0, -3)) }),
  'unclosed lists': (sizeBytes) => ({ bytes: Buffer.alloc(sizeBytes, '[') }),
  'blank JSON': (sizeBytes) => ({ bytes: Buffer.alloc(sizeBytes, ' \n\t') }),
  'gzip bomb': (sizeBytes) => ({ bytes: gzipBomb(sizeBytes), encoding: 'gzip' }),
  'broken gzip': (sizeBytes) => ({
    bytes: Buffer.concat([Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]), Buffer.alloc(sizeBytes, 0xa5)]),
    encoding: 'gzip',
  }),
}

// gzip compresses zeros to about a thousandth of their size.
const bombRatio = 1000
const maxBombBytes = 256 * 1024 * 1024
const bombs = new Map<number, Buffer>()

/** A compressed list of zeros that decompresses to a thousand times `sizeBytes`, up to 256 MiB. */
function gzipBomb(sizeBytes: number): Buffer {
  const textBytes = Math.min(sizeBytes * bombRatio, maxBombBytes)
  const known = bombs.get(textBytes)
  if (known) return known
  const text = Buffer.alloc(textBytes, '0,')
  text[0] = 0x5b
  text[textBytes - 1] = 0x5d
  if (textBytes % 2 === 1) text[textBytes - 2] = 0x30
  const bomb = gzipSync(text)
  bombs.set(textBytes, bomb)
  return bomb
}
