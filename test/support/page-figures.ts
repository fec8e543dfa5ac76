import { readFile } from 'node:fs/promises';
import type { CDPSession, Page } from 'playwright-core';

/** The cost of a page while a test used it. */
export interface PageFigures {
  /** Processor time of the longest task of the main thread, milliseconds. Other work of the machine does not count. */
  readonly longestTaskMs: number;
  /** Processor time of all tasks of the main thread, milliseconds. */
  readonly busyMs: number;
  /** Tasks of the main thread, so that a test sees that it measured something. */
  readonly tasks: number;
}

/** The part of a trace event that is used; times are in microseconds. */
interface TraceEvent {
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  readonly tdur?: number;
  readonly args?: { readonly name?: string };
}

/**
 * Measures the tasks of the page's main thread while something is done with it.
 *
 * Source: the trace events of Chromium; `RunTask` is what the Long Tasks API calls a task.
 */
export async function measureTasks(page: Page, use: () => Promise<void>): Promise<PageFigures> {
  const session = await page.context().browser()!.newBrowserCDPSession();
  const events: TraceEvent[] = [];
  session.on('Tracing.dataCollected', ({ value }) => {
    for (const event of value as unknown as TraceEvent[]) {
      if (event.name === 'RunTask' || event.name === 'thread_name') events.push(event);
    }
  });
  await session.send('Tracing.start', {
    traceConfig: { includedCategories: ['disabled-by-default-devtools.timeline', 'toplevel', '__metadata'] },
    transferMode: 'ReportEvents',
  });
  await use();
  const ended = new Promise((resolve) => session.once('Tracing.tracingComplete', resolve));
  await session.send('Tracing.end');
  await ended;
  const pid = await rendererOf(session);
  await session.detach();
  const main = new Set(
    events
      .filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain')
      .map(({ tid }) => tid),
  );
  const times = events
    .filter((event) => event.name === 'RunTask' && event.pid === pid && main.has(event.tid))
    .map(({ tdur = 0 }) => tdur / 1000);
  const busyMs = times.reduce((sum, time) => sum + time, 0);
  return { longestTaskMs: Math.max(0, ...times), busyMs, tasks: times.length };
}

/** Memory of the page: its process, without what the browser itself shares between processes; bytes. */
export async function pageMemory(page: Page): Promise<number> {
  const own = await page.context().newCDPSession(page);
  await own.send('HeapProfiler.collectGarbage');
  await own.detach();
  const session = await page.context().browser()!.newBrowserCDPSession();
  const status = await readFile(`/proc/${await rendererOf(session)}/status`, 'utf8');
  await session.detach();
  return Number(/RssAnon:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
}

/** The process that draws the page: the one that has used the processor most. Other pages of the browser are closed. */
async function rendererOf(session: CDPSession): Promise<number> {
  const { processInfo } = await session.send('SystemInfo.getProcessInfo');
  const renderers = processInfo.filter(({ type }) => type === 'renderer');
  return renderers.toSorted((left, right) => right.cpuTime - left.cpuTime)[0]!.id;
}
