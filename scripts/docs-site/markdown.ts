import { relative } from 'node:path';
import { ROOT, targetOf } from './pages.ts';

/** The parts of markdown-it that are used. */
interface Token {
  type: string;
  tag: string;
  content: string;
  readonly info: string;
  readonly children: readonly Token[] | null;
  readonly attrGet: (name: string) => string | null;
  readonly attrSet: (name: string, value: string) => void;
}
interface Environment {
  readonly path: string;
  readonly realPath?: string;
}
interface State {
  readonly tokens: readonly Token[];
  readonly env: Environment;
}
type Render = (tokens: readonly Token[], index: number, ...rest: readonly unknown[]) => string;
interface MarkdownIt {
  readonly core: { readonly ruler: { readonly push: (name: string, rule: (state: State) => void) => void } };
  readonly renderer: { readonly rules: Record<string, Render | undefined> };
}

/** The anchor of a heading as GitHub makes it, so that a link works in both places. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-');
}

/** Makes links lead to the places of the site, and blocks of `mermaid` to diagrams. */
export function extendMarkdown(markdown: MarkdownIt): void {
  markdown.core.ruler.push('slipway-links', ({ tokens, env }) => {
    const file = relative(ROOT, env.realPath ?? env.path).replaceAll('\\', '/');
    for (const token of tokens) {
      moveLinks(token.children ?? [], file);
      // Without the dot, Vue takes the name of a picture for that of a package.
      if (token.type === 'html_block')
        token.content = token.content.replaceAll(/ src="(?![./]|https?:)/g, ' src="./');
    }
  });
  const fence = markdown.renderer.rules['fence'];
  markdown.renderer.rules['fence'] = (tokens, index, ...rest) => {
    const token = tokens[index]!;
    if (token.info.trim() !== 'mermaid') return fence!(tokens, index, ...rest);
    return `<Diagram code="${encodeURIComponent(token.content)}" />`;
  };
}

/** Links to files that only the repository has become plain text. */
function moveLinks(tokens: readonly Token[], file: string): void {
  let isInRepositoryOnly = false;
  for (const token of tokens) {
    if (token.type === 'link_open') {
      const href = token.attrGet('href') ?? '';
      const target = /^(?:[a-z]+:|#)/.test(href) ? href : targetOf(file, href);
      isInRepositoryOnly = target === null;
      if (target !== null) token.attrSet('href', target);
      else {
        token.type = 'repository_open';
        token.tag = 'span';
        token.attrSet('title', `${href.replace(/^(?:\.\.?\/)+/, '')} in the repository`);
      }
    } else if (token.type === 'link_close' && isInRepositoryOnly) {
      token.type = 'repository_close';
      token.tag = 'span';
      isInRepositoryOnly = false;
    }
  }
}
