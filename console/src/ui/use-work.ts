import { useState } from 'react'

/** Runs one request after the other, and returns whether one is running and why the last one failed. */
export function useWork() {
  const [problem, setProblem] = useState<string>()
  const [isBusy, setIsBusy] = useState(false)
  async function run(work: () => Promise<void>): Promise<void> {
    setIsBusy(true)
    setProblem(undefined)
    try {
      await work()
    } catch (error) {
      setProblem((error as Error).message)
    } finally {
      setIsBusy(false)
    }
  }
  return { problem, isBusy, run, clearProblem: () => setProblem(undefined) }
}
