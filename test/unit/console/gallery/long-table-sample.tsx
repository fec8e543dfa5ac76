import type { JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { Badge, type Tone } from '../../../../src/console/components/text.tsx';
import { VirtualTable, type VirtualColumn } from '../../../../src/console/components/virtual-table.tsx';
import { PagedSource } from '../../../../src/console/state/paged-source.ts';
import { count, words } from '../../../../src/console/text/format.ts';
import { loadGenerated, type GeneratedUnit } from './generated-units.ts';

const TONES: Readonly<Record<GeneratedUnit['state'], Tone>> = {
  untranslated: 'idle',
  draft: 'idle',
  translated: 'info',
  proofread: 'ok',
  blocked: 'bad',
  stale: 'warn',
};

const COLUMNS: ReadonlyArray<VirtualColumn<GeneratedUnit>> = [
  { id: 'unit', head: 'Unit', least: 110, grow: 1, narrow: 'none', cell: ({ id }) => <code>{id}</code> },
  { id: 'text', head: 'Text', least: 200, grow: 3, narrow: 'title', cell: ({ text }) => <span>{text}</span> },
  { id: 'path', head: 'File', least: 180, grow: 3, narrow: 'detail', cell: ({ destination }) => destination },
  {
    id: 'state',
    head: 'State',
    least: 130,
    grow: 0,
    narrow: 'aside',
    cell: ({ state }) => <Badge tone={TONES[state]}>{words(state)}</Badge>,
  },
  {
    id: 'length',
    head: 'Length',
    least: 80,
    grow: 0,
    class: 'number',
    narrow: 'none',
    cell: ({ length }) => count(length),
  },
];

/** A table of a million rows that come in pages; rows are loaded while they are in view. */
export const longTableSample = { title: 'Table of a million rows', Body };

function Body(): JSX.Element {
  const source = useMemo(() => new PagedSource({ load: loadGenerated }), []);
  useEffect(() => {
    source.show(0, 0);
    return () => source.stop();
  }, [source]);
  const [opened, setOpened] = useState('nothing yet');
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const { value } = source.state.value;
  const toggle = ({ id }: GeneratedUnit): void => {
    const next = new Set(selected);
    if (!next.delete(id)) next.add(id);
    setSelected(next);
  };
  return (
    <>
      <VirtualTable
        label="Generated units"
        columns={COLUMNS}
        count={value?.total ?? 0}
        row={(index) => source.row(index)}
        keyOf={({ id }) => id}
        selected={selected}
        onSelect={toggle}
        onOpen={({ id }) => setOpened(id)}
        onRange={(first, last) => source.show(first, last)}
      />
      <p class="muted">{`${count(selected.size)} selected, opened: ${opened}`}</p>
    </>
  );
}
