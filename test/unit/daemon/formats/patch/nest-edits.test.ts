import { describe, expect, it } from 'vitest';
import { patchCsv } from '../../../../../src/daemon/formats/csv/patch-csv.ts';
import { patchJson } from '../../../../../src/daemon/formats/json/patch-json.ts';
import { nestEdits } from '../../../../../src/daemon/formats/patch/nest-edits.ts';
import type { FieldEdit } from '../../../../../src/daemon/formats/patch/value-edit.ts';

const edit = (fieldPath: string): FieldEdit => ({ fieldPath, source: 'い', target: 'a "new", text' });

describe('nestEdits', () => {
  it.for([
    ['m_Script#/lines/0', 'm_Script', '/lines/0'],
    ['a["x#\\"]#"].b#row[0].t', 'a["x#\\"]#"].b', 'row[0].t'],
    [`["t"]['it''s #]',1].text#/a#/b`, `["t"]['it''s #]',1].text`, '/a#/b'],
    ["t[x'00ff'].c#", "t[x'00ff'].c", ''],
    ['/x#line[0]', '/x', 'line[0]'],
  ] as const)('splits %j into %j and %j', ([path, outer, inner]) => {
    const found: unknown[] = [];
    const edits = nestEdits([edit(path)], 'dotted', ({ fieldPath, fieldName, value }, inside) => {
      expect(fieldName).toBe('data');
      found.push([fieldPath, inside.map((each) => each.fieldPath)]);
      return value;
    });
    for (const each of edits) if ('patch' in each) each.patch('', 'data');
    expect([edits.map(({ fieldPath }) => fieldPath), found]).toEqual([[outer], [[outer, [inner]]]]);
  });

  it('leaves the edits of the file itself as they are', () => {
    const own = [edit('a["#"].b'), edit("t['#'].c"), edit('rows[0]')];
    expect(nestEdits(own, 'dotted', ({ value }) => value)).toEqual(own);
  });

  it('patches JSON in a table in JSON, each level in its own style', () => {
    const json = JSON.stringify({ t: 'い', u: 'う' });
    const table = `id,data\r\n1,"${json.replaceAll('"', '""')}"\r\n`;
    const file = JSON.stringify({ text: 'い', table });
    const edits = [edit('/text'), edit('/table#row[0].data#/t')];
    const patched = patchJson(
      file,
      nestEdits(edits, 'pointer', (outer, inTable) =>
        patchCsv(
          String(outer.value),
          nestEdits(inTable, 'dotted', (inner, inJson) => patchJson(String(inner.value), inJson)),
          { delimiter: ',', header: true },
        ),
      ),
    );
    const newJson = JSON.stringify({ t: 'a "new", text', u: 'う' });
    const newTable = `id,data\r\n1,"${newJson.replaceAll('"', '""')}"\r\n`;
    expect(patched).toBe(JSON.stringify({ text: 'a "new", text', table: newTable }));
  });
});
