import ts from 'typescript'
import { placeholder } from './prose.ts'

export type Text = ts.StringLiteralLike | ts.TemplateExpression | ts.BinaryExpression

/** Whether a node is a literal, a template, or a sum with one of them. */
export function isText(node: ts.Node): node is Text {
  if (ts.isStringLiteralLike(node)) return true
  if (ts.isTemplateExpression(node)) return !ts.isTaggedTemplateExpression(node.parent)
  return isSum(node) && (isText(node.left) || isText(node.right))
}

const isSum = (node: ts.Node): node is ts.BinaryExpression =>
  ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.PlusToken

/** Whether a string is listed with the sum that it is a part of. */
export const isPartOfSum = (node: ts.Node): boolean => isSum(node.parent) && isText(node.parent)

/** The string as users see it, with `${…}` for each value. */
export function shownText(node: ts.Expression): string {
  if (ts.isStringLiteralLike(node)) return node.text
  if (ts.isTemplateExpression(node)) {
    return node.head.text + node.templateSpans.map(({ literal }) => placeholder + literal.text).join('')
  }
  if (isSum(node)) return shownText(node.left) + shownText(node.right)
  return placeholder
}

/** Whether a string is part of a template, such as the plural in `${count} row${count === 1 ? '' : 's'}`. */
export function isWithinText(node: ts.Node): boolean {
  for (let above = node.parent; ts.isExpression(above) || ts.isTemplateSpan(above); above = above.parent) {
    if (ts.isTemplateSpan(above)) return true
    if (ts.isCallExpression(above) || ts.isFunctionLike(above)) return false
  }
  return false
}
