import { Link } from 'wouter'
import { useAllRuleChanges } from '../cluster/index.ts'
import { datasourceAddress } from '../location.ts'
import { formatAge, Name } from '../ui/index.ts'
import type { InventoryFigures } from '../web-worker/index.ts'

/** The last rule changes, newest first. */
export function RuleChanges({ inventory }: { readonly inventory: InventoryFigures }) {
  const { data: changes } = useAllRuleChanges()
  if (!changes || changes.length === 0) return null
  return (
    <section aria-labelledby="changes">
      <h2 id="changes">Recent rule changes</h2>
      <ul className="history">
        {changes.map(({ key, auditInfo, auditTime }) => (
          <li key={`${key} ${auditTime}`}>
            <span className="dim numbers">{formatAge(inventory.now - Date.parse(auditTime))}</span>
            <span>
              {key === '_default' ? (
                'cluster defaults'
              ) : (
                <Link href={datasourceAddress(key)}>
                  <Name>{key}</Name>
                </Link>
              )}{' '}
              by <Name>{auditInfo.author || auditInfo.identity}</Name>
              {auditInfo.comment && (
                <span className="dim">
                  : “<Name>{auditInfo.comment}</Name>”
                </span>
              )}
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}
