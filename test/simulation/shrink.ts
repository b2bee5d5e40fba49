import type { SimulationPlan } from './schedule.ts'

/** Whether a plan still shows the problem. */
type Fails = (plan: SimulationPlan) => Promise<boolean>

/**
 * Returns a plan with as few faults, requests, and changes as possible that still fails: leaves out halves, quarters, and so
 * on, as long as the rest fails.
 */
export async function shrinkPlan(plan: SimulationPlan, fails: Fails): Promise<SimulationPlan> {
  let smallest = plan
  for (const part of ['faults', 'work', 'decommissioning', 'cancellations'] as const)
    smallest = await shrinkPart(smallest, part, fails)
  return smallest
}

async function shrinkPart(
  plan: SimulationPlan,
  part: 'faults' | 'work' | 'decommissioning' | 'cancellations',
  fails: Fails,
): Promise<SimulationPlan> {
  let smallest = plan
  for (let size = plan[part].length; size >= 1; size = Math.floor(size / 2)) {
    // From the end, because late steps matter only if early ones do not suffice.
    for (let end = smallest[part].length; end > 0; end -= size) {
      const kept: readonly object[] = [
        ...smallest[part].slice(0, Math.max(0, end - size)),
        ...smallest[part].slice(end),
      ]
      const candidate = { ...smallest, [part]: kept }
      if (await fails(candidate)) smallest = candidate
    }
  }
  return smallest
}

/** Returns a plan without everything that starts after some time. */
export function cutPlan(plan: SimulationPlan, untilMs: number): SimulationPlan {
  const isEarly = ({ atMs }: { readonly atMs: number }): boolean => atMs <= untilMs
  return {
    ...plan,
    work: plan.work.filter(isEarly),
    faults: plan.faults.filter(isEarly),
    decommissioning: plan.decommissioning.filter(isEarly),
    cancellations: plan.cancellations.filter(isEarly),
  }
}
