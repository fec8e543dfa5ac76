import type { FunctionComponent } from 'preact';
import type { FeedRequest } from '../api/feed-pool.ts';
import type { App } from './app.ts';

/** A page of the console. Each one is a file of its own, which the browser loads when the page is first shown. */
export interface View {
  readonly feeds: (app: App) => readonly FeedRequest[];
  readonly Body: FunctionComponent;
}
