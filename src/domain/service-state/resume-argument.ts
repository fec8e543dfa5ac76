/** How an action resumes what a rollback has stopped, as the texts of remedies say it. The button of a page does it already. */
export const WITH_RESUME = ' with args=resume=true';
