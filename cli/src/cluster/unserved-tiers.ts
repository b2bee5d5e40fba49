import { existsSync, readdirSync } from 'node:fs'
import type { HomeLayout } from '../home/index.ts'
import { type ClusterPlan, defaultTier } from './plan-cluster.ts'

/** The tiers that had historicals at an earlier start of a home, and have none in this one, by name. */
export function unservedTiers(home: HomeLayout, { options }: Pick<ClusterPlan, 'options'>): string[] {
  if (!existsSync(home.cache)) return []
  const tiers = readdirSync(home.cache).flatMap((folder) => {
    const instance = /^historical-(?:(?<tier>.+)-)?\d+$/.exec(folder)
    return instance ? [instance.groups?.tier ?? defaultTier] : []
  })
  return [...new Set(tiers)].filter((tier) => !options.historicals.has(tier)).sort()
}
