import { canonicalJson } from '@svc/domain/json'
import {
  keyOf,
  type Loss,
  losesSegments,
  type PlanContents,
  type PlanFile,
  shortDigest,
} from '@svc/domain/saved-plan'

/** An edit of the rules of a datasource, and what it depends on. */
export interface EditToSave {
  /** The address of the router. */
  readonly cluster: string
  readonly clusterId: string
  /** ISO 8601. */
  readonly createdAt: string
  readonly dataSource: string
  readonly before: readonly object[]
  readonly after: readonly object[]
  readonly loss: Loss
  /** All rules of the cluster, by name. */
  readonly stored: Readonly<Record<string, readonly object[]>>
}

async function digestOf(value: unknown): Promise<string> {
  const bytes = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(canonicalJson(value)))
  return shortDigest([...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, '0')).join(''))
}

/** Returns an edit as a plan that ./svc apply accepts. Browsers only compute its ID on pages that were loaded securely. */
export async function planOfEdit({ dataSource, before, after, ...edit }: EditToSave): Promise<PlanFile> {
  const digests = Object.entries(edit.stored).map(
    async ([name, list]) => [keyOf(['rules', name]), await digestOf(list)] as const,
  )
  const contents: PlanContents = {
    cluster: edit.cluster,
    clusterId: edit.clusterId,
    createdAt: edit.createdAt,
    changes: [
      {
        kind: 'rules',
        path: ['rules', dataSource],
        action: before.length === 0 ? 'add' : after.length === 0 ? 'remove' : 'change',
        before,
        after,
      },
    ],
    losses: losesSegments(edit.loss) ? { [dataSource]: edit.loss } : {},
    read: Object.fromEntries(await Promise.all(digests)),
  }
  return { version: 1, id: await digestOf(contents), ...contents }
}

/** Reads the rules that a plan changes, by datasource. Throws an Error if a text is not a plan, or was edited. */
export async function rulesInPlan(text: string): Promise<ReadonlyMap<string, readonly object[]>> {
  const { version, id, ...contents } = parsed(text)
  if (version !== 1 || !Array.isArray(contents.changes))
    throw new Error('The file is not a plan created by this version of svc.')
  if ((await digestOf(contents)) !== id)
    throw new Error('The plan was edited or is damaged: its contents do not match its ID.')
  const changes = contents.changes.filter(({ kind }) => kind === 'rules')
  return new Map(changes.map(({ path, after }) => [path.at(-1)!, (after ?? []) as readonly object[]]))
}

function parsed(text: string): Partial<PlanFile> {
  try {
    const json = JSON.parse(text) as unknown
    return typeof json === 'object' && json !== null ? json : {}
  } catch {
    return {}
  }
}
