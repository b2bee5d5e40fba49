import type { AuthenticatorStep, DirectoryStep } from '@svc/domain/access'
import { ldapErrorText } from './ldap-error-text.ts'

/** The requests to a directory for one login or lookup, in order. */
export class LdapTrace {
  private readonly noted: DirectoryStep[] = []

  /** Returns the requests so far. The last one may still be pending. */
  steps(): readonly DirectoryStep[] {
    return [...this.noted]
  }

  /** Notes a request that was sent, waits for its answer, and notes the answer or the error. */
  async note<Answer>(
    sent: DirectoryStep,
    answer: Promise<Answer>,
    describe: (answer: Answer) => Partial<DirectoryStep> = () => ({}),
  ): Promise<Answer> {
    const index = this.noted.push({ ...sent, isPending: true }) - 1
    const set = (result: Partial<DirectoryStep>) => {
      // After a timeout, the request has failed, whatever happens to its connection.
      if (this.noted[index]?.isPending) this.noted[index] = { ...sent, ...result }
    }
    try {
      const received = await answer
      set(describe(received))
      return received
    } catch (error) {
      set({ error: ldapErrorText(error) })
      throw error
    }
  }

  /** Notes why the last request failed. */
  fail(error: string): void {
    const last = this.noted.pop()
    if (!last) return
    const { isPending: _, ...step } = last
    this.noted.push(step.error === undefined && !last.isPending ? step : { ...step, error })
  }

  /** Notes the requests of another login, which show why none was sent for this one. */
  addEarlier(steps: readonly DirectoryStep[]): void {
    this.noted.push(...steps.map((step) => ({ ...step, isEarlier: true as const })))
  }
}

/** The requests to the directories of a chain for one login or lookup, in order. A directory may be queried more than once. */
export class LdapTraces {
  private readonly started: { readonly authenticator: string; readonly trace: LdapTrace }[] = []

  /** Returns the trace for the next requests to the directory of an authenticator. */
  start(authenticator: string): LdapTrace {
    const trace = new LdapTrace()
    this.started.push({ authenticator, trace })
    return trace
  }

  /** Returns the requests so far. */
  steps(): AuthenticatorStep[] {
    return this.started.flatMap(({ authenticator, trace }) =>
      trace.steps().map((step) => ({ authenticator, ...step })),
    )
  }
}
