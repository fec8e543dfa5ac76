import { styleText } from 'node:util';

export interface Painter {
  title(text: string): string;
  /**
   * A cell of a table or the value of a field.
   *
   * @param title of its column or field; only states have colours
   * @param text may be padded
   */
  cell(title: string, text: string): string;
}

/** Leaves every text as it is: for pipes, files and terminals without colours. */
export const PLAIN: Painter = { title: (text) => text, cell: (_title, text) => text };

type Colour = 'green' | 'red' | 'yellow' | 'gray';

/** Titles whose cells begin with a state. */
const STATE_TITLES: ReadonlySet<string> = new Set([
  'distributable',
  'enabled',
  'last',
  'level',
  'state',
  'status',
  'worker',
]);

const COLOUR_OF_STATE: ReadonlyMap<string, Colour> = new Map(
  Object.entries({
    green: [
      'current',
      'healthy',
      'idle',
      'ok',
      'proofread',
      'published',
      'succeeded',
      'true',
      'verified',
      'yes',
    ],
    red: ['damaged', 'error', 'failed', 'failing', 'expired', 'fatal', 'no', 'untrusted'],
    yellow: [
      'blocked',
      'cancelling',
      'degraded',
      'queued',
      'retry_wait',
      'running',
      'stale',
      'starting',
      'warn',
    ],
    gray: ['cancelled', 'deleted', 'exhausted', 'false', 'superseded', 'withdrawn'],
  } satisfies Record<Colour, string[]>).flatMap(([colour, states]) =>
    states.map((state) => [state, colour as Colour]),
  ),
);

/** Titles are bold, and states are green, red, yellow or grey. */
export const COLOURS: Painter = {
  title: (text) => styleText('bold', text, { validateStream: false }),
  cell: (title, text) => {
    if (!STATE_TITLES.has(title.toLowerCase())) return text;
    const colour = COLOUR_OF_STATE.get(/^\w+/.exec(text)?.[0] ?? '');
    return colour === undefined ? text : styleText(colour, text, { validateStream: false });
  },
};
