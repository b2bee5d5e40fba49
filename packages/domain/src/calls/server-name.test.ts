import assert from 'node:assert/strict'
import { test } from 'node:test'
import { serverNameAt } from './index.ts'

const cases: [url: string, name: string | undefined][] = [
  ['http://127.0.0.1:8083', '127.0.0.1:8083'],
  ['https://host-1.example.com:8283/', 'host-1.example.com:8283'],
  ['https://Host-1:443', 'Host-1:443'],
  ['https://[::1]:8283', '::1:8283'],
  ['http://[fd00::12]:80/status/health', 'fd00::12:80'],
  ['https://host', undefined],
  ['redis://127.0.0.1:6379', undefined],
]
for (const [url, name] of cases)
  test(`the server at ${url} is ${name}`, () => {
    assert.equal(serverNameAt(url), name)
  })
