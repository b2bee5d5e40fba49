import type { Command } from 'commander'
import { existingHome, selectAnother, withHome } from '../options/index.ts'
import { printJson, printText } from '../output/index.ts'

/** Adds `./svc import-report`. */
export function addImportReport(program: Command): void {
  withHome(
    program
      .command('import-report')
      .description(
        'Show what an import read, how the imported cluster differs from the source, and what was not read',
      ),
  )
    .option('--json', 'Print JSON')
    .action(async (options: { readonly home?: string; readonly json?: boolean }) => {
      const { formatImportReport, readImportReport } = await import('../import/index.ts')
      const report = readImportReport(existingHome(options.home, selectAnother))
      if (options.json) printJson(report)
      else printText(formatImportReport(report))
    })
}
