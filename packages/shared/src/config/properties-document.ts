import { type PropertyDefinition, properties } from './properties.ts'

/** Returns docs/properties.md, the page about all properties, as Markdown. */
export function propertiesDocument(): string {
  const rows = Object.entries<PropertyDefinition<unknown>>(properties).map(
    ([name, { about, type, fallback, conditions }]) =>
      [
        '',
        `\`${escapeName(name)}\``,
        about,
        conditions.map(({ text }) => escapeName(text)).join('; '),
        type.allowed,
        describeFallback(fallback),
        '',
      ]
        .join(' | ')
        .trim(),
  )
  return `# Properties

This page lists every property of the servers.

Every server reads \`common.runtime.properties\`, then its own \`runtime.properties\`, then environment variables
(\`svc_plaintextPort\` sets \`svc.plaintextPort\`). Later sources override earlier ones. A server with an unknown property
does not start. Some properties apply only if other properties have certain values: see the "only if" column. If you set a
property that does not apply, the server logs a warning at startup.

\`./svc dev docs\` generates this page from \`packages/shared/src/config/properties.ts\`.

| property | meaning | only if | allowed values | default |
| --- | --- | --- | --- | --- |
${rows.join('\n')}
`
}

function describeFallback(fallback: PropertyDefinition<unknown>['fallback']): string {
  if (fallback === undefined) return 'none'
  if (typeof fallback === 'string') return fallback === '' ? 'empty' : `\`${fallback}\``
  return Object.entries(fallback)
    .map(([role, text]) => `${role} \`${text}\``)
    .join(', ')
}

const escapeName = (text: string): string => text.replaceAll('<name>', '&lt;name&gt;')
