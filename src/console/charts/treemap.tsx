import type { JSX } from 'preact';
import { squarify, type Tile } from './squarify.ts';
import { useWidth } from './use-width.ts';

/** Most tiles. The smallest items are summed up in one, so that the others have room. */
const MOST_TILES = 40;
/** Height of a line of text, with the room around it, pixels. */
const LINE = 18;
/** Of a character of the text, pixels. */
const CHARACTER = 6.5;
const GAP = 1;
/** The last shade; charts.css has a colour for each. */
const SHADES = 11;
/** Beside the text, pixels. */
const PADDING = 5;

interface TreemapItem {
  readonly key: string;
  readonly text: string;
  /** Its area, at least 0. */
  readonly weight: number;
  /** Its shade, from 0 to 1. */
  readonly share: number;
  /** Where its tile leads; `null` for the tile of the smallest items. */
  readonly href: string | null;
}

/** Orders the items by weight and sums up those that would be too small. */
export function treemapItems(items: readonly TreemapItem[], most = MOST_TILES): readonly TreemapItem[] {
  const ordered = items
    .filter(({ weight }) => weight > 0)
    .toSorted((left, right) => right.weight - left.weight);
  if (ordered.length <= most) return ordered;
  const small = ordered.slice(most - 1);
  const weight = small.reduce((sum, item) => sum + item.weight, 0);
  const share = small.reduce((sum, item) => sum + item.share * item.weight, 0) / weight;
  const text = `${small.length} smaller ones`;
  // The key of an item is never empty.
  return [...ordered.slice(0, most - 1), { key: '', text, weight, share, href: null }];
}

/** A heat map: the area of a tile is a weight, its shade a share. Every tile of one item is a link. */
export function Treemap({
  label,
  items,
  height = 240,
  figure,
  describe,
}: {
  readonly label: string;
  readonly items: readonly TreemapItem[];
  /** Pixels. */
  readonly height?: number;
  readonly figure: (item: TreemapItem) => string;
  readonly describe: (item: TreemapItem) => string;
}): JSX.Element {
  const [box, width] = useWidth<HTMLDivElement>();
  const shown = treemapItems(items);
  const tiles = squarify(
    shown.map(({ weight }) => weight),
    { width, height },
  );
  return (
    <figure class="chart treemap">
      <div class="chart-box" ref={box}>
        <svg width={width} height={height} role="group" aria-label={label}>
          {width === 0
            ? null
            : shown.map((item, index) => (
                <MapTile
                  key={item.key}
                  item={item}
                  tile={tiles[index]}
                  figure={figure(item)}
                  text={describe(item)}
                />
              ))}
        </svg>
      </div>
      <figcaption class="legend">
        <span>{label}</span>0 %
        <svg width={12 * (SHADES + 1)} height={10} aria-hidden="true">
          {Array.from({ length: SHADES + 1 }, (_, shade) => (
            <g key={shade} class={`shade-${shade}`}>
              <rect x={shade * 12} width={12} height={10} />
            </g>
          ))}
        </svg>
        100 %
      </figcaption>
    </figure>
  );
}

function MapTile({
  item,
  tile,
  figure,
  text,
}: {
  readonly item: TreemapItem;
  readonly tile: Tile | undefined;
  readonly figure: string;
  readonly text: string;
}) {
  if (tile === undefined) return null;
  const { x, y, width, height } = tile;
  const Part = item.href === null ? 'g' : 'a';
  const link = item.href === null ? { role: 'img' as const } : { href: item.href };
  return (
    <Part {...link} aria-label={`${item.text}: ${text}`} class={`shade-${shadeOf(item.share)}`}>
      <title>{`${item.text}: ${text}`}</title>
      <rect
        x={x + GAP / 2}
        y={y + GAP / 2}
        width={Math.max(0, width - GAP)}
        height={Math.max(0, height - GAP)}
      />
      {/* It cuts off a name of wide characters. */}
      <svg x={x + PADDING} y={y} width={Math.max(0, width - 2 * PADDING)} height={height} aria-hidden="true">
        {/* Separate words, as the name of the tile has them. */}
        {tileLines(tile, item.text, figure).map((line, index) => [
          ' ',
          <text key={line} y={15 + LINE * index}>
            {line}
          </text>,
        ])}
      </svg>
    </Part>
  );
}

/** The lines of text that a tile has room for: its name, or the end of its path, and the figure. */
export function tileLines(
  { width, height }: { width: number; height: number },
  text: string,
  figure: string,
): readonly string[] {
  const fits = (line: string): boolean => line.length * CHARACTER <= width - 2 * PADDING;
  // The name of a file or folder says more than the path before it.
  const name = fits(text) ? text : text.slice(text.lastIndexOf('/') + 1);
  return [name, figure].filter(fits).slice(0, Math.floor(height / LINE));
}

/** The shade of a share: the first one only for nothing, the last one only for everything. @param share from 0 to 1 */
export function shadeOf(share: number): number {
  if (share <= 0) return 0;
  return share >= 1 ? SHADES : Math.min(SHADES - 1, 1 + Math.floor(share * (SHADES - 1)));
}
