import { Command, type Option } from 'commander'
import { exitStatus, exitStatusMeanings } from '../exit/index.ts'
import { withConnection } from '../options/index.ts'

const widthOfHelp = 100

/** Returns docs/commands.md, the page about all commands, as Markdown. */
export function commandsDocument(program: Command): string {
  const statuses = Object.entries(exitStatus).map(
    ([name, status]) => `| ${status} | ${exitStatusMeanings[name as keyof typeof exitStatus]} |`,
  )
  const connection = withConnection(new Command())
  const common = new Set(connection.options.map(textOf))
  const commands = program.commands.filter((command) => command.name() !== 'dev')
  const sections = commands.flatMap((command) => sectionsOf(command, '', common))
  return `# Commands

Every command of \`./svc\` with its options, and the exit statuses. \`./svc dev docs\` generates this page from the help.

${commandsTable(commands)}

## Exit statuses

Each status has the same meaning for every command.

| status | meaning |
| --- | --- |
| ${statuses.map((row) => row.slice(2)).join('\n| ')}

## Which cluster

A command works on the cluster in a home, which is the folder with all state of that cluster.
Commands with \`--url\` also work on another
cluster (svc or Druid). Some endpoints exist only in svc; on Druid, commands that need them fail with an explanation. The sections
below list these options only for commands where they differ:

${optionsTable(connection.options)}

${sections.join('\n\n')}
`
}

/** The commands by what they are for, with links to their sections. */
function commandsTable(commands: readonly Command[]): string {
  const rows = Object.entries(Object.groupBy(commands, (command) => command.helpGroup())).map(
    ([group, members = []]) => {
      const links = members.map((command) => `[\`${command.name()}\`](#${command.name()})`)
      return `| ${group.replace(/:$/, '')} | ${links.join(', ')} |`
    },
  )
  return `| purpose | commands |\n| --- | --- |\n${rows.join('\n')}`
}

const textOf = ({ flags, description }: Option): string => `${flags} ${description}`

/** The section of a command, followed by those of its own commands. */
function sectionsOf(command: Command, parent: string, common: ReadonlySet<string>): string[] {
  const name = `${parent}${command.name()}`
  const own = command.options.filter((option) => !common.has(textOf(option)))
  const url = command.options.find(({ long }) => long === '--url')
  const clusters = url && (common.has(textOf(url)) ? 'any cluster' : 'any svc cluster')
  const usage = `./svc ${name} ${command.usage()}`.replace('[options] ', '').replace(/ \[options\]$/, '')
  const parts = [
    `## ${name}`,
    `${command.description()}.${clusters === undefined ? '' : ` The option \`--url\` works with ${clusters}.`}`,
    ...(command.commands.length > 0 ? [] : [`\`${usage}\``]),
    ...argumentsOf(command),
    ...(own.length > 0 ? [optionsTable(own)] : []),
    ...moreHelp(command),
  ]
  return [parts.join('\n\n'), ...command.commands.flatMap((one) => sectionsOf(one, `${name} `, common))]
}

const cell = (text: string): string => text.replaceAll('|', '\\|').replace(/<([^>]+)>/g, '&lt;$1&gt;')

function argumentsOf(command: Command): string[] {
  const rows = command.registeredArguments.map((one) => `| \`${one.name()}\` | ${cell(one.description)} |`)
  return rows.length === 0 ? [] : [`| argument | meaning |\n| --- | --- |\n${rows.join('\n')}`]
}

function optionsTable(options: readonly Option[]): string {
  const rows = options.map(({ flags, description, defaultValue, mandatory }) => {
    const more = mandatory ? ' (required)' : defaultValue === undefined ? '' : ` (default: ${defaultValue})`
    return `| \`${flags}\` | ${cell(description)}${more} |`
  })
  return `| option | meaning |\n| --- | --- |\n${rows.join('\n')}`
}

/** What the help of a command shows after its options, as a block. */
function moreHelp(command: Command): string[] {
  let shown = ''
  command.configureOutput({
    writeOut: (text) => {
      shown += text
    },
    getOutHelpWidth: () => widthOfHelp,
  })
  command.outputHelp()
  const more = shown.slice(command.helpInformation().length).trim()
  return more === '' ? [] : [`\`\`\`text\n${more}\n\`\`\``]
}
