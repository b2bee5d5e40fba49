import { type PropertyDefinition, properties } from './properties.ts'

/** Every property as a page in Markdown: docs/properties.md. */
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

Every server reads \`common.runtime.properties\`, then its own \`runtime.properties\`, then environment variables
(\`svc_plaintextPort\` stands for \`svc.plaintextPort\`); later ones win. An unknown property is refused at start.
Where a property has an effect under other settings only, these stand under "only where"; one that is set without them is
told in the log at start.
This page is made from \`packages/shared/src/config/properties.ts\` by \`./svc dev docs\`.

| property | meaning | only where | allowed | default |
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
