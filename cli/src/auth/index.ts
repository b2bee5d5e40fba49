/** What a cluster says about who may do what, and why. */
export { type ExplainedRequest, type Explanation, explainAccess } from './explain-access.ts'
export { explanationText } from './explanation-text.ts'
