import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { waitUntil } from '@svc/shared/testing'
import { firefoxFile } from '../support/find-on-path.ts'
import { newTestFolder, removeTestFolder } from '../support/test-folder.ts'

/** An element, by its role and its name for people who cannot see the page, or as XPath. */
type Element = { readonly role: string; readonly name: string } | string

/**
 * A page in Firefox, over WebDriver BiDi. Playwright cannot drive Firefox ESR, because it sends a command that Firefox ESR
 * does not know (emulation.setMediaFeaturesOverride).
 */
export interface FirefoxPage {
  open(url: string): Promise<void>
  click(element: Element): Promise<void>
  /** Replaces the text of a field. */
  fill(field: Element, text: string): Promise<void>
  /** Waits until the page contains a text. */
  waitForText(text: RegExp): Promise<void>
  /** Errors and warnings in the console of the browser, exceptions, and reports of the content security policy. */
  readonly problems: string[]
  close(): Promise<void>
}

// As text, because tests have no types of browsers. Firefox does not log these itself.
const reportPolicyViolations = `addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
  console.error('Content security policy: ' + violatedDirective + ' blocked ' + blockedURI))`

/** Starts Firefox, and opens an empty page. */
export async function openFirefox(): Promise<FirefoxPage> {
  const profile = newTestFolder()
  const args = ['--headless', '--remote-debugging-port=0', '--profile', profile]
  const browser = spawn(firefoxFile!, args, { stdio: ['ignore', 'ignore', 'pipe'] })
  const session = await BidiSession.open(await addressOf(browser))
  const { contexts } = await session.send<{ contexts: { context: string }[] }>('browsingContext.getTree', {})
  const { context } = contexts[0]!
  const find = async (element: Element): Promise<object> => {
    const locator = { type: typeof element === 'string' ? 'xpath' : 'accessibility', value: element }
    const look = () => session.send<{ nodes: object[] }>('browsingContext.locateNodes', { context, locator })
    const { nodes } = await waitUntil(JSON.stringify(element), look, (found) => found.nodes.length > 0)
    return nodes[0]!
  }
  const act = (actions: readonly object[]) => session.send('input.performActions', { context, actions })
  const evaluate = (expression: string) =>
    session.send<{ result: { value: string } }>('script.evaluate', {
      expression,
      target: { context },
      awaitPromise: true,
    })
  const click = async (element: Element): Promise<void> => {
    const { sharedId } = (await find(element)) as { sharedId: string }
    await session.send('script.callFunction', {
      functionDeclaration: '(element) => element.scrollIntoView({ block: "center" })',
      arguments: [{ sharedId }],
      target: { context },
      awaitPromise: false,
    })
    const origin = { type: 'element', element: { sharedId } }
    const press = [{ type: 'pointerMove', x: 0, y: 0, origin }, ...pressOf('pointer', { button: 0 })]
    await act([{ type: 'pointer', id: 'mouse', actions: press }])
  }
  return {
    problems: session.problems,
    open: async (url) => {
      await session.send('browsingContext.navigate', { context, url, wait: 'complete' })
      // Not as a preload script, because Firefox ESR then sometimes logs an error of its own ("Permission denied").
      await evaluate(reportPolicyViolations)
    },
    click,
    fill: async (field, text) => {
      await click(field)
      const control = { value: '\uE009' }
      const selectAll = [
        { type: 'keyDown', ...control },
        ...pressOf('key', { value: 'a' }),
        { type: 'keyUp', ...control },
      ]
      const typed = [...text].flatMap((value) => pressOf('key', { value }))
      await act([{ type: 'key', id: 'keyboard', actions: [...selectAll, ...typed] }])
    },
    waitForText: async (text) => {
      const look = () => evaluate('document.body.innerText')
      await waitUntil(String(text), look, ({ result }) => text.test(result.value))
    },
    close: async () => {
      const exited = once(browser, 'exit')
      await session.send('browser.close', {})
      await exited
      removeTestFolder(profile)
    },
  }
}

const pressOf = (kind: 'key' | 'pointer', button: object): object[] => [
  { type: `${kind}Down`, ...button },
  { type: `${kind}Up`, ...button },
]

/** Returns the address of the WebDriver BiDi of a browser that is starting. */
async function addressOf(browser: ChildProcess): Promise<string> {
  for await (const line of createInterface(browser.stderr!)) {
    const address = /WebDriver BiDi listening on (ws:\S+)/.exec(line)?.[1]
    if (address !== undefined) {
      // Nobody reads the rest, which must not fill the pipe.
      browser.stderr!.resume()
      return `${address}/session`
    }
  }
  throw new Error('Firefox stopped before it listened')
}

interface Answer {
  readonly id?: number
  readonly result?: unknown
  readonly error?: string
  readonly message?: string
  readonly method?: string
  readonly params?: { readonly level?: string; readonly text?: string }
}

/** A session of WebDriver BiDi. */
class BidiSession {
  readonly problems: string[] = []
  private readonly socket: WebSocket
  private readonly waiting = new Map<number, (answer: Answer) => void>()
  private nextId = 1

  private constructor(socket: WebSocket) {
    this.socket = socket
    socket.addEventListener('message', ({ data }) => {
      const answer = JSON.parse(String(data)) as Answer
      if (answer.id !== undefined) this.waiting.get(answer.id)?.(answer)
      else if (answer.method === 'log.entryAdded' && /error|warn/.test(answer.params?.level ?? ''))
        this.problems.push(answer.params?.text ?? '')
    })
  }

  static async open(address: string): Promise<BidiSession> {
    const socket = new WebSocket(address)
    await once(socket, 'open')
    const session = new BidiSession(socket)
    // The authority of a test cluster is not known to this browser.
    await session.send('session.new', { capabilities: { alwaysMatch: { acceptInsecureCerts: true } } })
    await session.send('session.subscribe', { events: ['log.entryAdded'] })
    return session
  }

  async send<Result = unknown>(method: string, params: object): Promise<Result> {
    const id = this.nextId
    this.nextId += 1
    const answer = await new Promise<Answer>((resolve) => {
      this.waiting.set(id, resolve)
      this.socket.send(JSON.stringify({ id, method, params }))
    })
    this.waiting.delete(id)
    if (answer.error !== undefined) throw new Error(`${method}: ${answer.error}: ${answer.message}`)
    return answer.result as Result
  }
}
