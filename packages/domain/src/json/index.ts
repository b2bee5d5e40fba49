/** JSON text: composed of values that are JSON already, such as stored ones, and the same for equal values. */
export { canonicalJson, canonicalJsonInSteps } from './canonical-json.ts'
export {
  type JsonMember,
  joinedListTexts,
  jsonInAscii,
  jsonListOfTexts,
  jsonObjectOfMemberTexts,
  jsonObjectOfTexts,
  memberText,
  withFieldsFirst,
} from './compose.ts'
export { fittingItems } from './fitting.ts'
export { jsonList, jsonListOf, jsonObject, jsonObjectOf, jsonOf } from './pieces.ts'
export { setField } from './set-field.ts'
