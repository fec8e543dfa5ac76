/** A block of code of a page. */
export interface CodeBlock {
  /** The heading before it. */
  readonly heading: string;
  readonly language: string;
  readonly text: string;
}

const BLOCK = /^#{1,6} (?<heading>.*)$|^(?<indent> *)```(?<language>\w*)\n(?<text>[^]*?)^\k<indent>```$/gm;

/** The blocks of code of a page, in their order. */
export function codeBlocks(markdown: string): readonly CodeBlock[] {
  const blocks: CodeBlock[] = [];
  let heading = '';
  for (const { groups = {} } of markdown.matchAll(BLOCK)) {
    if (groups['heading'] !== undefined) heading = groups['heading'];
    else {
      const { indent = '', language = '', text = '' } = groups;
      blocks.push({ heading, language, text: text.replaceAll(new RegExp(`^${indent}`, 'gm'), '') });
    }
  }
  return blocks;
}

/**
 * The commands of a shell block. A command continues on the next line after a backslash or inside quotes. Comments and here
 * documents are left out.
 */
export function commandsOf(text: string): readonly string[] {
  const commands: string[] = [];
  let open = '';
  let endOfDocument: string | null = null;
  for (const line of text.split('\n')) {
    if (endOfDocument !== null) {
      if (line === endOfDocument) endOfDocument = null;
      continue;
    }
    open += open === '' ? line : `\n${line}`;
    if (open.endsWith('\\')) open = open.slice(0, -1);
    else if (splitWords(open) !== null) {
      if (splitWords(open)?.length !== 0) commands.push(open.trim());
      endOfDocument = /<<'?(\w+)/.exec(open)?.[1] ?? null;
      open = '';
    }
  }
  return commands;
}

/** A word of a shell: pieces in quotes and plain pieces. */
const WORD = /(?:'[^']*'|"(?:\\[^]|[^"\\])*"|\\[^]|[^\s'"\\#]|(?<=\S)#)+/y;

/** The words of a simple command, without quotes and without a comment at its end; `null` when a quote is open. */
export function splitWords(command: string): readonly string[] | null {
  const words: string[] = [];
  for (let at = 0; ;) {
    while (/\s/.test(command[at] ?? '')) at += 1;
    if (at >= command.length || command[at] === '#') return words;
    WORD.lastIndex = at;
    const [word] = WORD.exec(command) ?? [];
    if (word === undefined) return null;
    at += word.length;
    if (/['"]/.test(command[at] ?? '')) return null;
    words.push(
      word.replaceAll(
        /'([^']*)'|"((?:\\[^]|[^"\\])*)"|\\([^])/g,
        (_all, single?: string, double?: string, one?: string) =>
          single ?? double?.replaceAll(/\\(["\\$`])/g, '$1') ?? one ?? '',
      ),
    );
  }
}
