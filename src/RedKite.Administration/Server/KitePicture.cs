using System.Text;

namespace RedKite.Server.Commands.Server;

/// <summary>LOLWUT's picture: a kite in the wind, with a random tail and sky.</summary>
internal static class KitePicture
{
    internal const int ColumnsByDefault = 66;
    internal const int RowsByDefault = 18;

    private const int SmallestColumns = 12;
    private const int SmallestRows = 8;
    private const int ColumnsMax = 160;
    private const int RowsMax = 60;

    internal static string Draw(long columns, long rows, Random random)
    {
        int width = (int)Math.Clamp(columns, SmallestColumns, ColumnsMax);
        int height = (int)Math.Clamp(rows, SmallestRows, RowsMax);
        var canvas = new char[height][];
        for (int row = 0; row < height; row++)
        {
            canvas[row] = new char[width];
            Array.Fill(canvas[row], ' ');
        }

        DrawSky(canvas, random);
        int half = Math.Min(height / 4, width / 6);
        DrawTail(canvas, half, random);
        DrawKite(canvas, half);

        var text = new StringBuilder();
        foreach (char[] line in canvas) text.Append(new string(line).TrimEnd()).Append('\n');
        return text.Append("\nA red kite holds still where the wind is. RedKite ").Append(ServerVersion.Text).Append('\n').ToString();
    }

    private static void DrawSky(char[][] canvas, Random random)
    {
        int birds = canvas.Length * canvas[0].Length / 120;
        for (int i = 0; i < birds; i++)
        {
            char[] line = canvas[random.Next(canvas.Length)];
            line[random.Next(line.Length)] = random.Next(3) == 0 ? 'v' : '.';
        }
    }

    // A square standing on its corner, in the upper right, with two spars.
    private static void DrawKite(char[][] canvas, int half)
    {
        int center = canvas[0].Length - (2 * half) - 2;
        for (int row = -half; row <= half; row++)
        {
            char[] line = canvas[row + half];
            int side = half - Math.Abs(row);
            for (int column = -side; column <= side; column++) line[center + column] = row == 0 ? '-' : column == 0 ? '|' : ' ';
            line[center - side] = row < 0 ? '/' : row > 0 ? '\\' : '<';
            line[center + side] = row < 0 ? '\\' : row > 0 ? '/' : '>';
        }

        canvas[half][center] = '+';
        canvas[0][center] = '^';
        canvas[2 * half][center] = 'v';
    }

    // From the kite's foot to the ground on the left, in random curves.
    private static void DrawTail(char[][] canvas, int half, Random random)
    {
        double column = canvas[0].Length - (2 * half) - 2;
        int first = (2 * half) + 1;
        double slope = column / (canvas.Length - first + 1);
        double swing = 0;
        for (int row = first; row < canvas.Length; row++)
        {
            swing += random.NextDouble() - 0.5;
            column -= slope;
            int at = Math.Clamp((int)(column + (swing * 3)), 0, canvas[0].Length - 3);
            bool bow = (row - first) % 3 == 1;
            canvas[row][at] = bow ? '>' : '(';
            canvas[row][at + 1] = bow ? 'o' : ' ';
            canvas[row][at + 2] = bow ? '<' : ' ';
        }
    }
}
