import { type ComponentType, type LazyExoticComponent, lazy } from 'react'

/** Screens that are downloaded when they are first shown. */
interface Download {
  start(): Promise<unknown>
  retry(): void
}

const downloads: Download[] = []

/** Downloads a module. After a failure, it uses another address, because browsers remember that an address failed. */
function downloaderOf<Room>(download: () => Promise<Room>): () => Promise<Room> {
  let failures = 0
  let address: string | undefined
  return async () => {
    try {
      if (address === undefined) return await download()
      return (await import(/* @vite-ignore */ `${address}?attempt=${failures}`)) as Room
    } catch (error) {
      failures += 1
      // Browsers name the file in their messages.
      address ??= /https?:\S+?\.js/.exec((error as Error).message)?.[0]
      throw new Error(
        'This screen failed to load. Check your connection. If svc was updated in the meantime, reload the page.',
      )
    }
  }
}

/**
 * Returns a component that downloads the module of a screen when it is first shown. A failed download fails the component,
 * until it is retried.
 */
export function lazyScreen<Room, Input extends object>(
  download: () => Promise<Room>,
  screenIn: (room: Room) => ComponentType<Input>,
): ComponentType<Input> {
  const start = downloaderOf(download)
  let hasFailed = false
  const create = (): LazyExoticComponent<ComponentType<Input>> =>
    lazy(async () => {
      try {
        return { default: screenIn(await start()) }
      } catch (error) {
        hasFailed = true
        throw error
      }
    })
  let Screen = create()
  downloads.push({
    start,
    retry: () => {
      // A lazy component never downloads again by itself.
      if (hasFailed) Screen = create()
      hasFailed = false
    },
  })
  return function LazyScreen(input) {
    return <Screen {...input} />
  }
}

/** Downloads the screens that failed again when they are shown next. */
export function retryScreens(): void {
  for (const { retry } of downloads) retry()
}

/** Downloads all screens, so that they can be shown even if the connection is lost. */
export function preloadScreens(): void {
  // A screen that is not available now is downloaded when it is shown.
  for (const { start } of downloads) start().catch(() => undefined)
}
