import type { DialogRow } from './dialog-row.ts';

/** Writes a scene as JSON: `{ "SceneId", "DataList": [{ "Id", "Speaker", "TextJp" }] }`. */
export function jsonScene(sceneId: string, rows: readonly DialogRow[]): string {
  return `${JSON.stringify({ SceneId: sceneId, DataList: rows.map(jsonRow) }, null, 1)}\n`;
}

/** Writes rows as a JSON array. */
export function jsonRows(rows: readonly DialogRow[]): string {
  return JSON.stringify(rows.map(jsonRow));
}

/** Writes rows as CSV with a header. Source: RFC 4180. */
export function csvTable(rows: readonly DialogRow[]): string {
  const lines = rows.map(({ id, speaker, text }) => `${id},${speaker},"${text.replaceAll('"', '""')}"\r\n`);
  return `Key,Speaker,TextJp\r\n${lines.join('')}`;
}

/** Ids as text, so that every reader keeps them. */
function jsonRow({ id, speaker, text }: DialogRow): object {
  return { Id: String(id), Speaker: speaker, TextJp: text };
}
