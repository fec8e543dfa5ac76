import { createWriteStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { askSite } from './ask-site.ts';
import type { SlipwaySite } from './bytes/slipway-site.ts';

/**
 * Writes a translation for each unit, as the daemon reports them, into a file `bench.jsonl`.
 *
 * @param most units at which the file ends
 */
export async function writePrepared(
  site: SlipwaySite,
  folder: string,
  most = Number.POSITIVE_INFINITY,
): Promise<void> {
  await mkdir(folder, { recursive: true });
  const stream = createWriteStream(join(folder, 'bench.jsonl'));
  for (let offset = 0; offset < most;) {
    const { items } = (await askSite(site, `reports/parse.text_units?limit=1000&offset=${offset}`)) as {
      items: { unit_id: string; source_text: string }[];
    };
    if (items.length === 0) break;
    offset += items.length;
    for (const { unit_id, source_text } of items) {
      stream.write(`${JSON.stringify({ unit_id, source_text, translated_text: hanOf(source_text) })}\n`);
    }
  }
  stream.end();
  await finished(stream);
}

/** A text without kana that keeps placeholders, brackets and numbers. */
export function hanOf(text: string): string {
  return text.replaceAll(/[\u3041-\u30ff]/g, '的');
}
