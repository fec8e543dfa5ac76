import type { JSX } from 'preact';
import { Facts, Prose, Time } from '../components/text.tsx';
import { useApp } from '../state/app.ts';
import { currentVerdict, verdictState } from '../state/verdict.ts';

const SIGNS = { good: '✓', warn: '!', bad: '✕', unknown: '?' };

/**
 * The verdict, at the top of the page.
 *
 * @param props `brief`: a good verdict takes less room
 */
export function Banner({ brief }: { readonly brief: boolean }): JSX.Element {
  const app = useApp();
  const { tone, title, why, todo, unknown, unknownSince, since, until } = currentVerdict(app);
  const { loadedAt, nextAt } = verdictState(app);
  const isBrief = brief && tone === 'good';
  return (
    <section class={`verdict ${tone} ${isBrief ? 'brief' : ''}`} aria-labelledby="verdict-title">
      <span class="sign" aria-hidden="true">
        {SIGNS[tone]}
      </span>
      <div>
        <h2 id="verdict-title">{title}</h2>
        {why === '' || isBrief ? null : <p>{why}</p>}
        {todo === null ? null : (
          <p class="todo">
            <strong>What to do: </strong>
            <Prose text={todo} />
          </p>
        )}
        <Facts
          rows={[
            ['Since', since === null ? null : <Time key="since" at={since} />],
            [
              tone === 'good' ? 'Attested until' : 'Served until',
              until === null ? null : (
                <>
                  <Time at={until} />
                  {tone === 'good' ? ' and renewed before that' : null}
                </>
              ),
            ],
            [
              'Unknown',
              unknown === null ? null : (
                <>
                  {`${unknown} since `}
                  <Time at={unknownSince} />
                </>
              ),
            ],
            [
              'The server answered',
              loadedAt === null || isBrief ? null : <LocalTime key="answered" at={loadedAt} />,
            ],
            ['Next try', tone === 'unknown' && nextAt !== null ? <Countdown key="next" to={nextAt} /> : null],
          ]}
        />
      </div>
    </section>
  );
}

/** An instant of the reader's clock, milliseconds, told by the server's. */
function LocalTime({ at }: { readonly at: number }): JSX.Element {
  const app = useApp();
  return <Time at={app.now() - (app.localNow() - at) / 1000} />;
}

/** Seconds until an instant of the reader's clock, milliseconds. */
function Countdown({ to }: { readonly to: number }): JSX.Element {
  const app = useApp();
  return <>{`in ${Math.max(0, Math.ceil((to - app.localNow()) / 1000))} s`}</>;
}
