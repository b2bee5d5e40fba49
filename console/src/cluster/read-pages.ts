/** Reads pages, each after the last item of the one before, until one is not full or there are at least `max` items. */
export async function readPages<Item>(
  { pageSize, max }: { readonly pageSize: number; readonly max: number },
  fetchPage: (last: Item | undefined) => Promise<readonly Item[]>,
): Promise<readonly Item[]> {
  const items: Item[] = []
  for (;;) {
    const page = await fetchPage(items.at(-1))
    items.push(...page)
    if (page.length < pageSize || items.length >= max) return items
  }
}
