import type { AnsweredEffects, EffectName } from '@svc/domain/preview'
import { countOf, formatCount } from '@svc/domain/text'
import { Bytes } from '../ui/index.ts'

const rows: readonly (readonly [EffectName, string])[] = [
  ['unqueryable', 'Unqueryable'],
  ['unused', 'Marked as unused'],
  ['underReplicated', 'Under-replicated'],
  ['doesNotFit', 'Does not fit'],
  ['waitingForTier', 'Waiting for servers'],
  ['overshadowed', 'Overshadowed'],
]
const alwaysShown: ReadonlySet<string> = new Set<EffectName>(['unqueryable', 'underReplicated', 'doesNotFit'])

/** The effects of rules as numbers. Exact intervals are shown on hover. */
export function Numbers({ effects }: { readonly effects: AnsweredEffects }) {
  const replicas = [
    [
      'Replicas to load',
      effects.loaded.copies! + effects.moved.copies!,
      effects.loaded.bytes + effects.moved.bytes,
    ],
    [
      'Replicas to drop',
      effects.dropped.copies! + effects.moved.copies!,
      effects.dropped.bytes + effects.moved.bytes,
    ],
  ] as const
  return (
    <dl className="numbers figures">
      {rows
        .filter(([name]) => effects[name].segments > 0 || alwaysShown.has(name))
        .map(([name, label]) => {
          const { segments, bytes, interval } = effects[name]
          const isLoss = segments > 0 && (name === 'unqueryable' || name === 'unused')
          return (
            <div key={name} title={interval ?? undefined}>
              <dt>{label}</dt>
              <dd className={isLoss ? 'loss-text' : ''}>{countOf(segments, 'segment')}</dd>
              <dd className={isLoss ? 'loss-text' : 'dim'}>{segments > 0 && <Bytes of={bytes} />}</dd>
            </div>
          )
        })}
      {replicas.map(([label, copies, bytes]) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>{formatCount(copies)}</dd>
          <dd className="dim">{copies > 0 && <Bytes of={bytes} />}</dd>
        </div>
      ))}
    </dl>
  )
}
