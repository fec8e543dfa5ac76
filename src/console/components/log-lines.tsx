import { untracked } from '@preact/signals';
import { Component, createRef, type JSX } from 'preact';
import type { Report } from '../api/wire.ts';
import { useApp } from '../state/app.ts';
import { taskAddress } from '../text/addresses.ts';
import { renderExact } from '../text/exact-json.ts';
import { absolute, utc } from '../text/format.ts';

/** The reader counts as at the end within this distance of it, pixels. */
const NEAR_END = 8;

type LogLine = Report<'daemon.logs'>['lines'][number] & { readonly seq?: number };

interface LogProps {
  readonly label: string;
  /** Oldest first. */
  readonly lines: readonly LogLine[];
}

/** A log in a box that stays scrolled to its end until the reader scrolls up. */
export class LogLines extends Component<LogProps> {
  readonly box = createRef<HTMLDivElement>();

  override componentDidMount(): void {
    this.showEnd();
  }

  override getSnapshotBeforeUpdate(): boolean {
    const box = this.box.current;
    return box !== null && box.scrollTop + box.clientHeight >= box.scrollHeight - NEAR_END;
  }

  override componentDidUpdate(_props: LogProps, _state: object, wasAtEnd: boolean): void {
    if (wasAtEnd) this.showEnd();
  }

  showEnd(): void {
    const box = this.box.current;
    if (box !== null) box.scrollTop = box.scrollHeight;
  }

  override render(): JSX.Element {
    const { label, lines } = this.props;
    return (
      <div class="log" role="region" tabIndex={0} aria-label={label} ref={this.box}>
        <ol>
          {lines.map((line, index) => (
            <li key={line.seq ?? index} class={line.level}>
              <LineParts line={line} />
            </li>
          ))}
        </ol>
      </div>
    );
  }
}

function LineParts({ line }: { line: LogLine }) {
  const { ts, level, msg, fields, task_id: task } = line;
  // Read once per drawing, and not followed: a log of thousands of lines must not be drawn every second.
  const app = useApp();
  const now = untracked(() => app.now());
  return (
    <>
      <time dateTime={utc(ts)} title={utc(ts)}>
        {absolute(ts, now)}
      </time>
      <span class="level">{level}</span>
      <span class="message">
        {msg}
        {fields === undefined ? null : <span class="muted">{` ${renderExact(fields)}`}</span>}
        {task === undefined ? null : (
          <>
            {' '}
            <a href={taskAddress(task)}>
              task<span class="unseen">{` ${task}`}</span>
            </a>
          </>
        )}
      </span>
    </>
  );
}
