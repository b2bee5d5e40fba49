/** The ./svc commands, one file each. A command loads its dependencies when it runs, so that the others start fast. */
import type { Command } from 'commander'
import { addApply } from './apply.ts'
import { addAuth } from './auth.ts'
import { addBackup } from './backup.ts'
import { addCalls } from './calls.ts'
import { addClock } from './clock.ts'
import { addCompaction } from './compaction.ts'
import { addConsole } from './console.ts'
import { addDatasources } from './datasources.ts'
import { addDemo } from './demo.ts'
import { addDoctor } from './doctor.ts'
import { addDown } from './down.ts'
import { addDrift } from './drift.ts'
import { addExplain } from './explain.ts'
import { addExport } from './export.ts'
import { addFault } from './fault.ts'
import { addImport } from './import.ts'
import { addImportReport } from './import-report.ts'
import { addIngest } from './ingest.ts'
import { addLogs } from './logs.ts'
import { addPassword } from './password.ts'
import { addPki } from './pki.ts'
import { addPlan } from './plan.ts'
import { addPull } from './pull.ts'
import { addReset } from './reset.ts'
import { addRules } from './rules.ts'
import { addSample } from './sample.ts'
import { addMark, addSegments } from './segments.ts'
import { addSimulate } from './simulate.ts'
import { addSql } from './sql.ts'
import { addStatus } from './status.ts'
import { addTiers } from './tiers.ts'
import { addUp } from './up.ts'
import { addUsers } from './users.ts'
import { addWait } from './wait.ts'
import { addWorker } from './worker.ts'

export { runCommandLine } from './run-command-line.ts'

const groups: readonly (readonly [heading: string, ...((program: Command) => void)[]])[] = [
  [
    'Run a cluster:',
    addUp,
    addDown,
    addStatus,
    addWait,
    addLogs,
    addPassword,
    addWorker,
    addReset,
    addBackup,
  ],
  ['Load and query data:', addSample, addIngest, addSql],
  ['Inspect data and servers:', addTiers, addDatasources, addSegments, addExplain],
  ['Change rules, compaction, and segments:', addRules, addCompaction, addMark],
  ['Manage configuration as YAML files:', addPull, addPlan, addApply, addDrift],
  ['Rehearse on a copy of a cluster:', addExport, addImport, addImportReport, addConsole],
  ['Users and security:', addUsers, addAuth, addPki, addCalls, addDoctor],
  ['Demonstrate and simulate:', addDemo, addSimulate, addClock, addFault],
]

/** Adds all commands except those for developers, in the order in which help lists them. */
export function addCommands(program: Command): void {
  for (const [heading, ...commands] of groups) {
    program.commandsGroup(heading)
    for (const add of commands) add(program)
  }
  program.commandsGroup('More:').helpCommand('help [command]')
}
