import assert from 'node:assert/strict'
import { test } from 'node:test'
import { homeOption } from './home-option.ts'

for (const [file, option] of [
  ['/home/you/svc/.svc/pki/authority.pem', ''],
  ['.svc/pki/authority.pem', ''],
  ['/data/rehearsal/pki/authority.pem', ' --home /data/rehearsal'],
  ["/data/it's mine/pki/authority.pem", ` --home '/data/it'\\''s mine'`],
  ['/etc/ssl/authorities.pem', ''],
  [null, ''],
] as const)
  test(`shows [${option}] for the authority file ${file}`, () => {
    assert.equal(homeOption(file), option)
  })
