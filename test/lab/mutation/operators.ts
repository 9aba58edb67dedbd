import ts from 'typescript';

/** A change of one place of one file. */
export interface Mutant {
  /** From the project's folder, with `/`. */
  readonly file: string;
  /** File, enclosing function and change: the same after lines have moved. */
  readonly id: string;
  readonly line: number;
  readonly start: number;
  readonly end: number;
  /** Instead of the text from `start` to `end`. */
  readonly replacement: string;
}

const opposites: Readonly<Record<string, readonly string[]>> = {
  '<': ['<=', '>='],
  '<=': ['<', '>'],
  '>': ['>=', '<='],
  '>=': ['>', '<'],
  '===': ['!=='],
  '!==': ['==='],
  '&&': ['||'],
  '||': ['&&'],
  '+': ['-'],
  '-': ['+'],
  '+=': ['-='],
  '-=': ['+='],
};

/** Who is told something: logs, metrics, and the events of a stage, which do both. */
const telling = /(^|\.)#?(log|logger|metrics|events|warn|info|debug|trace)\??\.[a-zA-Z]+$|#events$/;
/** Time and sizes that somebody chose: no behaviour has such a number as its edge. */
const chosenAmount = /(Ms|Bytes|Seconds|PerSecond)$/;
const greatestNumber = 1_000;
const longestChange = 100;

/** All changes of a file that the operators know. Leaves alone types, logs, metrics, and what is thrown. */
export function mutantsOf(file: string, text: string): Mutant[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const mutants: Mutant[] = [];
  const times = new Map<string, number>();

  const add = (node: ts.Node, replacement: string, at = node): void => {
    const start = node.getStart(source);
    const before = text.slice(start, node.end);
    if (before === replacement) return;
    const change = `${enclosing(at)}: ${short(before)} → ${short(replacement)}`;
    const time = (times.get(change) ?? 0) + 1;
    times.set(change, time);
    const { line } = source.getLineAndCharacterOfPosition(start);
    const id = `${file} ${change}${time === 1 ? '' : ` (${time})`}`;
    mutants.push({ file, id, line: line + 1, start, end: node.end, replacement });
  };

  const condition = (node: ts.Expression): void => {
    const inner = node.getText(source);
    if (node.kind === ts.SyntaxKind.TrueKeyword || node.kind === ts.SyntaxKind.FalseKeyword) return;
    // Most comparisons have an operator of their own that says the opposite.
    const opposite = ts.isPrefixUnaryExpression(node) || isComparison(node) ? [] : [`!(${inner})`];
    for (const replacement of [...opposite, 'true', 'false']) add(node, replacement);
  };

  const visit = (node: ts.Node): void => {
    if (isLeftAlone(node, source)) return;
    if (ts.isIfStatement(node)) condition(node.expression);
    else if (ts.isConditionalExpression(node)) condition(node.condition);
    else if (ts.isWhileStatement(node)) add(node.expression, 'false');
    else if (ts.isExpressionStatement(node)) {
      if (!isPlainField(node, source)) add(node, ';');
    } else if (ts.isReturnStatement(node) && returnsEarly(node)) add(node, ';');
    else if (ts.isContinueStatement(node) && isInIf(node)) add(node, ';');
    else if (ts.isBinaryExpression(node)) binary(node);
    else if (ts.isPrefixUnaryExpression(node)) {
      if (node.operator === ts.SyntaxKind.ExclamationToken) add(node, node.operand.getText(source));
    } else if (ts.isAwaitExpression(node)) add(node, `(${node.expression.getText(source)})`);
    else if (ts.isNumericLiteral(node)) number(node);
    else if (ts.isArrayLiteralExpression(node) && node.elements.length > 0) {
      if (!ts.isBinaryExpression(node.parent) || node.parent.left !== node) add(node, '[]');
    } else if (node.kind === ts.SyntaxKind.TrueKeyword) add(node, 'false');
    else if (node.kind === ts.SyntaxKind.FalseKeyword) add(node, 'true');
    else if (ts.isPropertyAccessExpression(node)) access(node);
    ts.forEachChild(node, visit);
  };

  const binary = (node: ts.BinaryExpression): void => {
    const { left, operatorToken, right } = node;
    const operator = operatorToken.getText(source);
    if (operator === '??') for (const side of [left, right]) add(node, side.getText(source));
    if (operator.startsWith('+') && [left, right].some(isText)) return;
    for (const other of opposites[operator] ?? [])
      add(node, `${left.getText(source)} ${other} ${right.getText(source)}`);
  };

  const number = (node: ts.NumericLiteral): void => {
    const value = Number(node.text);
    if (!(value < greatestNumber) || isChosenAmount(node)) return;
    add(node, String(value + 1), node);
    if (value > 0) add(node, String(value - 1), node);
  };

  const access = (node: ts.PropertyAccessExpression): void => {
    const name = node.name.text;
    const of = node.expression.getText(source);
    if (of === 'Math' && name === 'min') add(node, 'Math.max', node.parent);
    else if (of === 'Math' && name === 'max') add(node, 'Math.min', node.parent);
    else if (node.questionDotToken !== undefined) add(node, `${of}.${node.name.getText(source)}`);
  };

  const enclosing = (node: ts.Node): string => {
    const names: string[] = [];
    for (let at = node; !ts.isSourceFile(at); at = at.parent) {
      if (
        ts.isFunctionDeclaration(at) ||
        ts.isMethodDeclaration(at) ||
        ts.isAccessor(at) ||
        ts.isClassDeclaration(at) ||
        ts.isPropertyDeclaration(at) ||
        (ts.isVariableDeclaration(at) && isFunction(at.initializer))
      )
        names.unshift(at.name?.getText(source) ?? 'default');
      else if (ts.isConstructorDeclaration(at)) names.unshift('constructor');
    }
    return names.join('.') || 'module';
  };

  ts.forEachChild(source, visit);
  return mutants;
}

/** The text of a file with a mutant in it. */
export function planted(text: string, { start, end, replacement }: Mutant): string {
  return text.slice(0, start) + replacement + text.slice(end);
}

function isLeftAlone(node: ts.Node, source: ts.SourceFile): boolean {
  if (ts.isTypeNode(node) || ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node))
    return true;
  if (ts.isImportDeclaration(node) || ts.isThrowStatement(node) || ts.isNewExpression(node))
    return (
      !ts.isNewExpression(node) || /(Error|Rejected|Problem)$/.test(node.expression.getText(source))
    );
  const call = ts.isExpressionStatement(node) ? node.expression : node;
  return (
    ts.isCallExpression(call) && telling.test(call.expression.getText(source).replaceAll(/\s/g, ''))
  );
}

/** A return before the end of its function: taken out, what comes after it runs. */
function returnsEarly(node: ts.ReturnStatement): boolean {
  return isInIf(node);
}

function isInIf({ parent }: ts.Node): boolean {
  if (ts.isIfStatement(parent)) return true;
  return ts.isBlock(parent) && ts.isIfStatement(parent.parent);
}

function isFunction(node: ts.Node | undefined): boolean {
  if (node === undefined) return false;
  return ts.isArrowFunction(node) || ts.isFunctionExpression(node);
}

function isComparison(node: ts.Node): boolean {
  if (!ts.isBinaryExpression(node)) return false;
  const operator = node.operatorToken.getText();
  return operator in opposites && !['&&', '||'].includes(operator);
}

/** `this.name = name;`: whatever runs finds that it is gone, which would make the share of found ones better than it is. */
function isPlainField({ expression }: ts.ExpressionStatement, source: ts.SourceFile): boolean {
  if (!ts.isBinaryExpression(expression) || !ts.isIdentifier(expression.right)) return false;
  const { left, right } = expression;
  return [`this.${right.text}`, `this.#${right.text}`].includes(left.getText(source));
}

function isText(node: ts.Node): boolean {
  return ts.isStringLiteralLike(node) || ts.isTemplateExpression(node);
}

function isChosenAmount(node: ts.Node): boolean {
  for (let at = node.parent; !ts.isStatement(at) && !isFunction(at); at = at.parent)
    if (
      (ts.isVariableDeclaration(at) ||
        ts.isPropertyAssignment(at) ||
        ts.isPropertyDeclaration(at)) &&
      chosenAmount.test(at.name.getText())
    )
      return true;
    else if (ts.isClassElement(at)) return false;
  return false;
}

function short(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ');
  return line.length <= longestChange ? line : `${line.slice(0, longestChange)}…`;
}
