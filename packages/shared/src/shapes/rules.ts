import { ruleSchema } from '@svc/domain/rules'
import * as z from 'zod'
import { shapeOf } from '../http/index.ts'

/** Schema of a list of retention rules. */
export const rulesShape = z.array(shapeOf(ruleSchema))
