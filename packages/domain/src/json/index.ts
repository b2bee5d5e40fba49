/** JSON text: composed of values that are JSON already, such as stored ones, and the same for equal values. */
export { canonicalJson, canonicalJsonInSteps } from './canonical-json.ts'
export {
  type JsonMember,
  jsonInAscii,
  jsonListOfTexts,
  jsonObjectOfTexts,
  memberText,
  withFieldsFirst,
} from './compose.ts'
export { fittingItems } from './fitting.ts'
