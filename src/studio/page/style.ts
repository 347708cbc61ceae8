export const style = '';
