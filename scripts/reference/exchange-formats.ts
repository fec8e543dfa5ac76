import { EXCHANGE_FORMATS, type ExchangedKind } from '../../src/contract/formats/exchange-formats.ts';
import { table } from './markdown.ts';

const KINDS: Readonly<Record<ExchangedKind, readonly [title: string, guide: string]>> = {
  units: ['Units of translation tasks', 'translation-files.md'],
  terms: ['Terms of the Glossary', 'memory-and-glossary-files.md'],
  memory: ['Records of the Translation Memory', 'memory-and-glossary-files.md'],
};

/** docs/reference/exchange-formats.md */
export function renderExchangeFormats(): string {
  const sections = (Object.keys(KINDS) as ExchangedKind[]).map((kind) => {
    const [title, guide] = KINDS[kind];
    return `## ${title}\n\n${formatTable(kind)}\n\nThe details: [${guide.replace('.md', '').replaceAll('-', ' ')}](${guide}).`;
  });
  return `# Formats of exchange

Generated from \`src/contract/formats/exchange-formats.ts\` by \`make docs\`; do not edit.

The formats of the files that people, their programs and the service exchange. All of them are written and read. The ending of a
file's name decides the format; \`--format\`, and \`format\` of the jobs, name another one. Of two formats with one ending, the ending
means the first.

${sections.join('\n\n')}
`;
}

function formatTable(kind: ExchangedKind): string {
  const rows = Object.entries(EXCHANGE_FORMATS[kind]).map(([name, { title, endings, use, carries }]) => [
    `\`${name}\``,
    title,
    endings.map((ending: string) => `\`.${ending}\``).join(', '),
    use,
    carries,
  ]);
  return table(['`format`', 'Format', 'Endings', 'For', 'Carries'], rows);
}
