// Runs the commands of the how-to page about several machines, each on the machine that the page names, with the
// stores on a third machine, over TLS.
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { openHome } from '@svc/cli/home'
import { trustStoreFile } from '@svc/cli/pki'
import { pagesOf, runPageInClone } from '../docs/run-page.ts'
import { createMachines, machinesProblem } from '../support/machines.ts'
import { newTestFolder, removeTestFolder } from '../support/test-folder.ts'
import { startTlsStores } from '../support/tls-stores.ts'

const password = 'a password of the stores'
const names: readonly string[] = ['machine-1', 'machine-2']

for (const name of pagesOf('surroundings', ''))
  test(`the commands of ${name} print what it shows`, { skip: machinesProblem() ?? false }, async () => {
    const folder = newTestFolder()
    const home = openHome(path.join(folder, 'stores'))
    const shared = path.join(folder, 'shared')
    const net = createMachines(names.length)
    const stores = 'stores.example.com'
    const hosts = names.map((machine, index) => [`${machine}.example.com`, net.machines[index]!.address])
    net.name({ ...Object.fromEntries(hosts), [stores]: net.address })
    const running = await startTlsStores({ home, password, hosts: [stores], address: net.address })
    try {
      mkdirSync(shared)
      for (const store of ['postgres', 'redis'])
        writeFileSync(path.join(shared, `${store}-password`), password)
      copyFileSync(trustStoreFile(home.pki), path.join(shared, 'stores-authority.pem'))
      await runPageInClone(name, {
        launch: (machine) => net.machines[names.indexOf(machine)]!.launch,
        // The servers need the Node.js of this repository.
        environment: { PATH: `${path.dirname(process.execPath)}${path.delimiter}${process.env.PATH}` },
        words: {
          '/mnt/svc': shared,
          'connector.port=5432': `connector.port=${running.ports.postgres}`,
          'redis.port=6379': `redis.port=${running.ports.redis}`,
        },
      })
    } finally {
      await net.stop()
      await running.stop()
      removeTestFolder(folder)
    }
  })
