// Loaded before anything else: makes code of the product run on simulated time, machines, and networks.
import { mutateSource, replaceModules } from './hooks.ts'
import { replaceGlobals } from './stand-ins/globals.ts'

replaceModules()
replaceGlobals()

const mutation = process.env.SVC_TEST_MUTATION
if (mutation !== undefined) mutateSource(JSON.parse(mutation))
