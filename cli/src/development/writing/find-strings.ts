import ts from 'typescript'
import {
  callRules,
  codeCallees,
  kindsByFile,
  passingFunctions,
  passingMethods,
  propertyRules,
  type StringKind,
  type Verdict,
  verdictsOfAttributes,
} from './call-sites.ts'
import { hasWord, isProse } from './prose.ts'
import { isPartOfText, isText, isWithinText, shownText } from './string-nodes.ts'

/** A user-facing string, with the line (from 1) where it begins; `${…}` marks each value in it. */
export interface FoundString {
  readonly kind: StringKind
  readonly line: number
  readonly text: string
}

// A string is followed through at most this many variables and functions.
const maxFollowedNames = 4

/**
 * Returns the user-facing strings in the source `text` of `file` (a path relative to the repository, with slashes), in
 * order. The kind of a string comes from the call or property that receives it, directly or through variables and
 * functions of the same file. Any other string is listed if it reads as prose, with the default kind of its file.
 */
export function findStrings(file: string, text: string): readonly FoundString[] {
  const source = file.endsWith('.json')
    ? ts.parseJsonText(file, text)
    : ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
  if (file.endsWith('.json')) setParents(source)
  const names = namesOf(source)
  const found: FoundString[] = []
  const visit = (node: ts.Node): void => {
    if (isText(node) && !isPartOfText(node)) {
      const shown = shownText(node)
      const kind = kindOf(node, shown, { file, source, names })
      if (kind !== undefined) found.push({ kind, line: lineOf(source, node), text: shown })
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

interface Context {
  readonly file: string
  readonly source: ts.SourceFile
  readonly names: ReadonlyMap<string, readonly ts.Node[]>
}

function kindOf(node: ts.Node, shown: string, context: Context): StringKind | undefined {
  if (!hasWord(shown)) return undefined
  if (ts.isJsxElement(node) || ts.isJsxFragment(node)) return 'console'
  // A single word counts only as a direct argument or property value: elsewhere it is usually a name or a value.
  if (!isProse(shown)) {
    const verdict = isWithinText(node)
      ? undefined
      : verdictOf(node, { ...context, names: new Map() }, new Set())
    return verdict === 'code' ? undefined : verdict
  }
  const verdict = verdictOf(node, context, new Set())
  if (verdict === 'code' || context.file.endsWith('.json')) return verdict === 'code' ? undefined : verdict
  if (verdict !== undefined) return verdict
  return kindsByFile.find(([file]) => file.test(context.file))?.[1]
}

/** Follows a value upwards to the call, property or declaration that decides its kind. */
function verdictOf(node: ts.Node, context: Context, seen: Set<ts.Node>): Verdict {
  let value = node
  for (let place = node.parent; place !== undefined; value = place, place = place.parent) {
    if (seen.has(place)) return undefined
    if (isPassing(place, value)) continue
    if (ts.isJsxAttribute(place)) return verdictsOfAttributes.get(place.name.getText())
    if (ts.isJsxExpression(place)) return 'console'
    if (isCode(place, value)) return 'code'
    if (ts.isPropertyAssignment(place) || ts.isShorthandPropertyAssignment(place)) {
      const kind = kindOfProperty(place, context.file)
      if (kind !== undefined) return kind
      if (ts.isObjectLiteralExpression(place.parent)) continue
    }
    if (ts.isCallExpression(place) || ts.isNewExpression(place)) {
      if (isPassingCall(place, value)) continue
      if (isSplit(place, value)) return 'code'
      return verdictOfArgument(place, value, context, seen)
    }
    if (ts.isPropertyAccessExpression(place)) continue
    return verdictOfNamed(place, value, context, seen)
  }
  return undefined
}

/** Whether the expression around a value evaluates to that value, or contains it. */
function isPassing(place: ts.Node, value: ts.Node): boolean {
  if (ts.isConditionalExpression(place)) return place.condition !== value
  if (ts.isBinaryExpression(place)) {
    const operators = [
      ts.SyntaxKind.PlusToken,
      ts.SyntaxKind.QuestionQuestionToken,
      ts.SyntaxKind.BarBarToken,
      ts.SyntaxKind.AmpersandAmpersandToken,
    ]
    return operators.includes(place.operatorToken.kind)
  }
  if (ts.isElementAccessExpression(place)) return place.expression === value
  return (
    ts.isParenthesizedExpression(place) ||
    ts.isAsExpression(place) ||
    ts.isSatisfiesExpression(place) ||
    ts.isNonNullExpression(place) ||
    ts.isAwaitExpression(place) ||
    ts.isArrayLiteralExpression(place) ||
    ts.isObjectLiteralExpression(place) ||
    ts.isSpreadElement(place) ||
    ts.isSpreadAssignment(place) ||
    ts.isTemplateSpan(place) ||
    ts.isTemplateExpression(place) ||
    (ts.isJsxExpression(place) && ts.isJsxAttribute(place.parent))
  )
}

/** Whether the value is a name, a pattern or code here: an import, a type, a comparison, SQL. */
function isCode(place: ts.Node, value: ts.Node): boolean {
  if (ts.isBinaryExpression(place))
    return (
      place.operatorToken.kind !== ts.SyntaxKind.EqualsToken &&
      place.operatorToken.kind !== ts.SyntaxKind.PlusEqualsToken
    )
  if (ts.isPropertyAssignment(place) || ts.isMethodDeclaration(place)) return place.name === value
  return (
    ts.isImportDeclaration(place) ||
    ts.isExportDeclaration(place) ||
    ts.isLiteralTypeNode(place) ||
    ts.isCaseClause(place) ||
    ts.isConditionalExpression(place) ||
    ts.isElementAccessExpression(place) ||
    ts.isTaggedTemplateExpression(place) ||
    ts.isPropertySignature(place)
  )
}

function kindOfProperty(
  place: ts.PropertyAssignment | ts.ShorthandPropertyAssignment,
  file: string,
): Verdict {
  const name = nameOf(place.name)
  return propertyRules.find((rule) => rule.name === name && (rule.file?.test(file) ?? true))?.kind
}

function nameOf(node: ts.Node): string | undefined {
  return ts.isIdentifier(node) || ts.isPrivateIdentifier(node) || ts.isStringLiteralLike(node)
    ? node.text
    : undefined
}

function calleeOf(call: ts.CallExpression | ts.NewExpression): {
  name: string | undefined
  receiver: string
} {
  const { expression } = call
  return ts.isPropertyAccessExpression(expression)
    ? { name: expression.name.text, receiver: expression.expression.getText() }
    : { name: nameOf(expression), receiver: '' }
}

/** Whether the call returns its value, possibly changed: `['a', 'b'].join(' ')`, `emphasized('a')`, `list.map(() => 'a')`. */
function isPassingCall(call: ts.CallExpression | ts.NewExpression, value: ts.Node): boolean {
  const { name } = calleeOf(call)
  if (name === undefined) return false
  if (value === call.expression) return passingMethods.has(name)
  if (passingFunctions.has(name)) return true
  return ts.isFunctionLike(value) && ['map', 'flatMap', 'then', 'from', 'catch'].includes(name)
}

/** Whether the call splits the value, which is then a list of names. */
const isSplit = (call: ts.CallExpression | ts.NewExpression, value: ts.Node): boolean =>
  value === call.expression && calleeOf(call).name === 'split'

function verdictOfArgument(
  call: ts.CallExpression | ts.NewExpression,
  value: ts.Node,
  context: Context,
  seen: Set<ts.Node>,
): Verdict {
  const index = call.arguments?.indexOf(value as ts.Expression) ?? -1
  const { name, receiver } = calleeOf(call)
  if (index < 0 || name === undefined) return undefined
  const rules = callRules.filter(
    (rule) =>
      rule.callee === name &&
      (rule.receiver?.test(receiver) ?? true) &&
      (rule.file?.test(context.file) ?? true),
  )
  const rule = rules.find(({ args }) => args.includes(index))
  if (rule !== undefined) return rule.kind
  // The arguments of a call in a list of their own, as in `option(...homeOption)`.
  if (ts.isSpreadElement(value) && rules[0] !== undefined) return rules[0].kind
  // Other arguments of these calls are names, patterns and defaults.
  if (codeCallees.has(name) || rules.some(({ kind }) => ['help', 'metric', 'property'].includes(kind)))
    return 'code'
  // For a function of this file, what it does with the parameter decides.
  for (const declared of context.names.get(name) ?? []) {
    const parameter = functionOf(declared)?.parameters[index]
    if (parameter === undefined || !ts.isIdentifier(parameter.name)) continue
    const verdict = verdictOfReferences(parameter.name, parameter.parent, context, new Set([...seen, call]))
    if (verdict !== undefined && verdict !== 'code') return verdict
  }
  return undefined
}

/** Returns the function that a name declares, if it declares one. */
function functionOf(name: ts.Node): ts.SignatureDeclaration | undefined {
  const { parent } = name
  if ((ts.isFunctionDeclaration(parent) || ts.isMethodDeclaration(parent)) && parent.name === name)
    return parent
  if (!ts.isVariableDeclaration(parent) || parent.name !== name || parent.initializer === undefined)
    return undefined
  return ts.isArrowFunction(parent.initializer) ? parent.initializer : undefined
}

/** Follows a value that is assigned to a variable or returned by a function, through the uses of that name. */
function verdictOfNamed(place: ts.Node, value: ts.Node, context: Context, seen: Set<ts.Node>): Verdict {
  const further = new Set([...seen, place])
  if (further.size > maxFollowedNames) return undefined
  if (ts.isVariableDeclaration(place) || ts.isParameter(place)) {
    return ts.isIdentifier(place.name)
      ? verdictOfReferences(place.name, scopeOf(place), context, further)
      : undefined
  }
  if (ts.isBinaryExpression(place) && ts.isIdentifier(place.left)) {
    return verdictOfReferences(place.left, context.source, context, further)
  }
  const returning = ts.isReturnStatement(place)
    ? ts.findAncestor(place, ts.isFunctionLike)
    : ts.isArrowFunction(place) && place.body === value
      ? place
      : undefined
  if (returning === undefined) return undefined
  const name =
    returning.name ?? (ts.isVariableDeclaration(returning.parent) ? returning.parent.name : undefined)
  if (name !== undefined && nameOf(name) !== undefined) {
    return verdictOfReferences(name, context.source, context, further)
  }
  // An anonymous function: the call that receives it decides.
  return verdictOf(returning, context, further)
}

function scopeOf(declaration: ts.Node): ts.Node {
  return (
    ts.findAncestor(declaration.parent, (above) => ts.isBlock(above) || ts.isFunctionLike(above)) ??
    declaration.getSourceFile()
  )
}

function verdictOfReferences(name: ts.Node, scope: ts.Node, context: Context, seen: Set<ts.Node>): Verdict {
  for (const reference of context.names.get(nameOf(name) ?? '') ?? []) {
    if (reference === name || reference.pos < scope.pos || reference.end > scope.end) continue
    const verdict = verdictOf(calledOrItself(reference), context, seen)
    if (verdict !== undefined && verdict !== 'code') return verdict
  }
  return undefined
}

/** Returns the call if the name is called here, otherwise the name itself. */
function calledOrItself(reference: ts.Node): ts.Node {
  const { parent } = reference
  const callee = ts.isPropertyAccessExpression(parent) && parent.name === reference ? parent : reference
  return ts.isCallExpression(callee.parent) && callee.parent.expression === callee ? callee.parent : reference
}

/** Returns all identifiers of a file by name, in order. */
function namesOf(source: ts.SourceFile): ReadonlyMap<string, readonly ts.Node[]> {
  const names = new Map<string, ts.Node[]>()
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node) || ts.isPrivateIdentifier(node)) {
      const same = names.get(node.text)
      if (same === undefined) names.set(node.text, [node])
      else same.push(node)
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return names
}

const lineOf = (source: ts.SourceFile, node: ts.Node): number =>
  source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1

/** Sets the parents of all nodes, which the JSON parser leaves unset. */
function setParents(parent: ts.Node): void {
  ts.forEachChild(parent, (child) => {
    Object.assign(child, { parent })
    setParents(child)
  })
}
