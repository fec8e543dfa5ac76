import type { FunctionComponent } from 'preact';

/** A component of the console in each of its states, without a server. */
export interface ComponentSample {
  readonly title: string;
  readonly Body: FunctionComponent;
}
