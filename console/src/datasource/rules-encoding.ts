import type { RuleJson } from '@svc/domain/rules'
import { ruleTypes } from '@svc/domain/rules'
import { byteCharacters } from '../formats/index.ts'

/** The rules in a link, or why they cannot be shown. */
export type LinkedRules = { readonly rules: readonly RuleJson[] } | { readonly problem: string }

// Prefix of compressed rules. Base64url never contains it.
const compressedMark = '~'

// Mail and chat programs may truncate longer links.
const maxPlainCharacters = 2000

// Far more than 10,000 rules need, so that a small link cannot fill the memory.
const maxRulesBytes = 16 * 1024 * 1024

/** Returns rules for a link in the page. */
export const encodedRules = (rules: readonly RuleJson[]): string =>
  inAddress(new TextEncoder().encode(JSON.stringify(rules)))

/** Returns rules for a link that people copy, compressed if they are long. */
export async function shortEncodedRules(rules: readonly RuleJson[]): Promise<string> {
  const plain = encodedRules(rules)
  if (plain.length <= maxPlainCharacters) return plain
  const text = new Blob([JSON.stringify(rules)]).stream()
  return compressedMark + inAddress(await bytesOf(text.pipeThrough(new CompressionStream('deflate-raw'))))
}

/** Returns the rules that a link encodes, or why they cannot be shown. Their values may be invalid, as in any edit. */
export async function rulesInLink(encoded: string): Promise<LinkedRules> {
  const list = await decoded(encoded)
  if (!isRuleList(list))
    return { problem: 'This link does not contain valid rules, so the stored rules are shown.' }
  const unknown = list.find(({ type }) => !(ruleTypes as readonly string[]).includes(type))
  return unknown === undefined
    ? { rules: list }
    : {
        problem: `This link contains a rule of the unknown type [${unknown.type}], so the stored rules are shown. Open the link in the version of svc that created it.`,
      }
}

/** Whether a value can be shown as rules, which may be invalid. */
export const isRuleList = (value: unknown): value is readonly RuleJson[] =>
  Array.isArray(value) &&
  value.every((rule: unknown) => typeof (rule as { type?: unknown } | null)?.type === 'string')

/** Returns the JSON value that a link encodes; undefined if it encodes none. */
async function decoded(encoded: string): Promise<unknown> {
  try {
    const isCompressed = encoded.startsWith(compressedMark)
    const text = atob(
      encoded
        .slice(isCompressed ? 1 : 0)
        .replaceAll('-', '+')
        .replaceAll('_', '/'),
    )
    const bytes = Uint8Array.from(text, (byte) => byte.charCodeAt(0))
    return JSON.parse(new TextDecoder().decode(isCompressed ? await decompressed(bytes) : bytes)) as unknown
  } catch {
    return undefined
  }
}

/** Returns the bytes that were compressed. Throws if the bytes are damaged or too many. */
async function decompressed(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const parts = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'))
  let size = 0
  const limit = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform(part, controller) {
      size += part.length
      if (size > maxRulesBytes) throw new Error('Too many rules')
      controller.enqueue(part)
    },
  })
  return bytesOf(parts.pipeThrough(limit))
}

const bytesOf = async (stream: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<Uint8Array> =>
  new Uint8Array(await new Response(stream).arrayBuffer())

/** Encodes bytes so that they can be a part of an address. */
const inAddress = (bytes: Uint8Array): string =>
  btoa(byteCharacters(bytes)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
