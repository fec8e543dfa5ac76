import type { ComponentChildren, JSX } from 'preact';
import { Skeleton } from './text.tsx';
import { VirtualRows } from './virtual-rows.tsx';

interface VirtualListProps<R> {
  readonly label: string;
  readonly class?: string;
  readonly count: number;
  /** A row, `undefined` until it has arrived. */
  readonly row: (index: number) => R | undefined;
  /** Pixels. */
  readonly rowHeight: number;
  readonly active: number | null;
  readonly onActive: (index: number) => void;
  readonly onOpen?: (index: number) => void;
  readonly onRange?: (first: number, last: number) => void;
  readonly children: (row: R, index: number) => ComponentChildren;
}

/** A list of any length, of which one row is selected. */
export function VirtualList<R>(props: VirtualListProps<R>): JSX.Element {
  const {
    label,
    class: name = '',
    count,
    row,
    rowHeight,
    active,
    onActive,
    onOpen,
    onRange,
    children,
  } = props;
  const onKey = ({ key }: KeyboardEvent): boolean => {
    if (key !== 'Enter' || onOpen === undefined || active === null) return false;
    onOpen(active);
    return true;
  };
  return (
    <VirtualRows
      role="listbox"
      label={label}
      class={`virtual-list ${name}`}
      count={count}
      rowHeight={rowHeight}
      active={active}
      onActive={onActive}
      onKey={onKey}
      onRange={onRange}
    >
      {(index, id) => {
        const known = row(index);
        return (
          <div
            role="option"
            id={id}
            class="virtual-row"
            aria-selected={index === active}
            aria-posinset={index + 1}
            aria-setsize={count}
            onClick={() => onActive(index)}
            onDblClick={() => onOpen?.(index)}
          >
            {known === undefined ? <Skeleton /> : children(known, index)}
          </div>
        );
      }}
    </VirtualRows>
  );
}
