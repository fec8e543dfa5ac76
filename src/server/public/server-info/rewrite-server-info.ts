import { parseTree, type Node, type ParseError } from 'jsonc-parser';

import { failure, success, type Result } from '../../../domain/result.ts';

/** The member that tells clients where the resources are. */
const ROOT_MEMBER = 'AddressablesCatalogUrlRoot';

/** The member that holds the override groups. */
const OVERRIDES_MEMBER = 'OverrideConnectionGroups';

/** Deepest nesting that is read; the parser recurses. */
const MAX_DEPTH = 64;

/** The new value, and the groups to leave unchanged. */
export interface ServerInfoRewrite {
  /** The new value, without trailing slash. */
  readonly root: string;
  /** Names of override groups that keep the root from upstream. */
  readonly keepOverrides: readonly string[];
}

interface Edit {
  readonly start: number;
  readonly end: number;
}

/**
 * Replaces every `AddressablesCatalogUrlRoot` text at any depth and leaves every other byte as it was: unknown fields,
 * order, white space and the digits of numbers.
 *
 * @param text the document; a byte order mark is kept
 * @returns the new text, or one sentence that says why the document cannot be rewritten
 */
export function rewriteServerInfo(text: string, rewrite: ServerInfoRewrite): Result<string, string> {
  const mark = text.startsWith('\ufeff') ? '\ufeff' : '';
  const json = text.slice(mark.length);
  if (nestingOf(json) > MAX_DEPTH) return failure(`the document is nested deeper than ${MAX_DEPTH} levels`);
  const errors: ParseError[] = [];
  const tree = parseTree(json, errors, { disallowComments: true, allowTrailingComma: false });
  if (tree === undefined || errors.length > 0)
    return failure(`the document is not JSON, from character ${errors[0]?.offset ?? 0} on`);
  const edits = findRoots(tree, new Set(rewrite.keepOverrides));
  const replacement = JSON.stringify(rewrite.root);
  const pieces: string[] = [mark];
  let copied = 0;
  for (const { start, end } of edits.toSorted((a, b) => a.start - b.start)) {
    pieces.push(json.slice(copied, start), replacement);
    copied = end;
  }
  pieces.push(json.slice(copied));
  return success(pieces.join(''));
}

function findRoots(tree: Node, keep: ReadonlySet<string>): Edit[] {
  const edits: Edit[] = [];
  const open: Node[] = [tree];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (node.type === 'object' && isKeptOverride(node, keep)) continue;
    if (node.type === 'property') {
      const [key, value] = node.children ?? [];
      if (key?.value === ROOT_MEMBER && value?.type === 'string')
        edits.push({ start: value.offset, end: value.offset + value.length });
    }
    open.push(...(node.children ?? []));
  }
  return edits;
}

function isKeptOverride(node: Node, keep: ReadonlySet<string>): boolean {
  const list = node.parent;
  const member = list?.type === 'array' ? list.parent?.children?.[0]?.value : undefined;
  if (member !== OVERRIDES_MEMBER) return false;
  const names = (node.children ?? []).filter(({ children }) => children?.[0]?.value === 'Name');
  return names.some(({ children }) => keep.has(String(children?.[1]?.value)));
}

/** Depth of brackets outside of strings; never less than the depth that a parser reaches. */
function nestingOf(json: string): number {
  let depth = 0;
  let deepest = 0;
  let inString = false;
  for (let i = 0; i < json.length; i += 1) {
    const character = json[i];
    if (inString) {
      if (character === '\\') i += 1;
      else if (character === '"') inString = false;
    } else if (character === '"') inString = true;
    else if (character === '[' || character === '{') deepest = Math.max(deepest, (depth += 1));
    else if (character === ']' || character === '}') depth -= 1;
  }
  return deepest;
}
