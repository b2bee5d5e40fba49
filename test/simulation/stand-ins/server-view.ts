/** Stands in for the view of a broker: that of the product, which the environment observes. */
import { createServerView as create } from '../../../services/broker/src/server-view/index.ts'
import { environmentOf, runningProcess } from '../environment.ts'

export * from '../../../services/broker/src/server-view/index.ts'

/** Creates a view like the product. */
export const createServerView: typeof create = (context) => {
  const view = create(context)
  const process = runningProcess()
  environmentOf(process).observeView(process, view)
  return view
}
