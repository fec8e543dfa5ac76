import { extname } from 'node:path';
import { parseSync } from 'oxc-parser';

/** Text for people. */
export interface Passage {
  /** Line of its first character in the file, from 1. */
  readonly line: number;
  readonly text: string;
}

/** The passages of a file: comments and strings of code, paragraphs of everything else. */
export function passagesOf(path: string, text: string): Passage[] {
  const extension = extname(path);
  if (['.ts', '.tsx', '.js'].includes(extension)) return passagesOfCode(path, text);
  return paragraphs(extension === '.md' ? withoutCode(text) : text);
}

function passagesOfCode(path: string, text: string): Passage[] {
  const { comments, program, errors } = parseSync(path, text);
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]?.message ?? 'cannot be parsed'}`);
  const at = lineCounter(text);
  const found: Passage[] = [];
  for (const { type, start, value } of comments) {
    const line = at(start);
    const previous = found.at(-1);
    // Line comments below each other are one passage.
    if (
      type === 'Line' &&
      previous !== undefined &&
      line === previous.line + previous.text.split('\n').length
    ) {
      found[found.length - 1] = { ...previous, text: `${previous.text}\n${value.trim()}` };
    } else {
      found.push({ line, text: value.replaceAll(/^[ \t]*\*?[ \t]*/gm, '') });
    }
  }
  collectStrings(program, (start, value) => found.push({ line: at(start), text: value }));
  return found;
}

/** Strings and templates; expressions in templates become `X`. */
function collectStrings(node: unknown, report: (start: number, value: string) => void): void {
  if (typeof node !== 'object' || node === null) return;
  if (Array.isArray(node)) {
    for (const each of node) collectStrings(each, report);
    return;
  }
  const { type, start, value, quasis } = node as {
    readonly type?: string;
    readonly start?: number;
    readonly value?: unknown;
    readonly quasis?: ReadonlyArray<{ readonly value: { readonly raw: string } }>;
  };
  if (type === 'ImportDeclaration') return;
  if ((type === 'Literal' || type === 'JSXText') && typeof value === 'string') report(start ?? 0, value);
  if (type === 'TemplateLiteral') report(start ?? 0, (quasis ?? []).map((each) => each.value.raw).join('X'));
  for (const child of Object.values(node)) collectStrings(child, report);
}

function paragraphs(text: string): Passage[] {
  const found: Passage[] = [];
  let line = 1;
  for (const part of text.split(/(\n\s*\n)/)) {
    if (part.trim() !== '') found.push({ line, text: part });
    line += part.split('\n').length - 1;
  }
  return found;
}

/** Markdown with its code blocks emptied and its inline code replaced; lines stay where they are. */
function withoutCode(text: string): string {
  return text
    .replaceAll(/^```[\s\S]*?^```$/gm, (block) => block.replaceAll(/[^\n]/g, ''))
    .replaceAll(/`[^`\n]*`/g, 'X');
}

function lineCounter(text: string): (offset: number) => number {
  const starts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return (offset) => {
    let [low, high] = [0, starts.length];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle;
    }
    return low + 1;
  };
}
