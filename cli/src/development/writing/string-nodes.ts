import ts from 'typescript'
import { hasWord, placeholder } from './prose.ts'

export type Text = ts.StringLiteralLike | ts.TemplateExpression | ts.BinaryExpression | JsxParent
type JsxParent = ts.JsxElement | ts.JsxFragment

/** Whether a node is a literal, a template, a sum with one of them, or an element of JSX with text of its own. */
export function isText(node: ts.Node): node is Text {
  if (ts.isStringLiteralLike(node)) return true
  if (ts.isTemplateExpression(node)) return !ts.isTaggedTemplateExpression(node.parent)
  if (isJsxParent(node)) return node.children.some((child) => ts.isJsxText(child) && hasWord(child.text))
  return isSum(node) && (isText(node.left) || isText(node.right))
}

const isSum = (node: ts.Node): node is ts.BinaryExpression =>
  ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.PlusToken

const isJsxParent = (node: ts.Node): node is JsxParent => ts.isJsxElement(node) || ts.isJsxFragment(node)

/** Whether a string is listed with the sum or the element that it is a part of. */
export const isPartOfText = (node: ts.Node): boolean =>
  (isSum(node.parent) || (isInline(node) && isJsxParent(node.parent))) && isText(node.parent)

// The elements of HTML that are parts of a sentence.
const inlineTags: ReadonlySet<string> = new Set(['a', 'b', 'bdi', 'code', 'em', 'small', 'span', 'strong'])

/** Whether an element is part of a sentence: a component, such as a name, or an element such as a word in bold. */
export function isInlineTag({ tagName }: ts.JsxOpeningLikeElement | ts.JsxClosingElement): boolean {
  const name = tagName.getText()
  return /^[A-Z]/.test(name) || inlineTags.has(name)
}

const isInline = (node: ts.Node): boolean =>
  ts.isJsxElement(node)
    ? isInlineTag(node.openingElement)
    : ts.isJsxSelfClosingElement(node) && isInlineTag(node)

/** The string as users see it, with `${…}` for each value. */
export function shownText(node: ts.Node): string {
  if (ts.isStringLiteralLike(node)) return node.text
  if (ts.isTemplateExpression(node)) {
    return node.head.text + node.templateSpans.map(({ literal }) => placeholder + literal.text).join('')
  }
  if (isSum(node)) return shownText(node.left) + shownText(node.right)
  if (isJsxParent(node)) return node.children.map(shownChild).join('').replaceAll(/\s+/g, ' ').trim()
  return placeholder
}

/** The text of a child of an element. Like a browser, it omits line breaks at the ends of a text. */
function shownChild(child: ts.JsxChild): string {
  if (ts.isJsxText(child)) return child.text.replaceAll(/^\s*\n\s*|\s*\n\s*$/g, '')
  if (ts.isJsxExpression(child)) return child.expression === undefined ? '' : shownText(child.expression)
  // The text of any other element is listed separately.
  return isInline(child) ? shownText(child) || placeholder : ' '
}

/** Whether a string is part of a template, such as the plural in `${count} row${count === 1 ? '' : 's'}`. */
export function isWithinText(node: ts.Node): boolean {
  for (let above = node.parent; ts.isExpression(above) || ts.isTemplateSpan(above); above = above.parent) {
    if (ts.isTemplateSpan(above)) return true
    if (ts.isCallExpression(above) || ts.isFunctionLike(above)) return false
  }
  return false
}
