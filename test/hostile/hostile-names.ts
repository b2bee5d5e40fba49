/**
 * Names that a server must refuse or escape, each as a JavaScript string and as percent-encoded for a path.
 */
export const hostileNames: readonly {
  readonly kind: string
  readonly text: string
  readonly escaped: string
}[] = [
  { kind: 'NUL', text: 'a\0b', escaped: 'a%00b' },
  { kind: 'control characters', text: 'a\u0001\u001b[2J\r\nb', escaped: 'a%01%1b%5b2J%0d%0ab' },
  { kind: 'lone surrogate', text: 'a\ud800b', escaped: 'a%ed%a0%80b' },
  { kind: 'slash', text: 'a/b', escaped: 'a%2fb' },
  { kind: 'climbing', text: '../../b', escaped: '..%2f..%2fb' },
  { kind: 'right to left', text: 'a\u202eb\u2066', escaped: 'a%e2%80%aeb%e2%81%a6' },
  { kind: 'malformed escape', text: 'a%zzb', escaped: 'a%zzb' },
]
