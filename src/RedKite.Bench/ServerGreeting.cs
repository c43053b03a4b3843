using System.Globalization;
using System.Text;

namespace RedKite.Bench;

/// <summary>The commands that a connection sends before the load, depending on the options: AUTH, HELLO, SELECT.</summary>
internal static class ServerGreeting
{
    internal static (byte[] Bytes, int Replies) For(BenchOptions options)
    {
        List<string[]> commands = [];
        if (options.Protocol == 3)
        {
            commands.Add(options.Password is null ? ["HELLO", "3"] : ["HELLO", "3", "AUTH", options.User ?? "default", options.Password]);
        }
        else if (options.Password is not null)
        {
            commands.Add(options.User is null ? ["AUTH", options.Password] : ["AUTH", options.User, options.Password]);
        }

        if (options.Database != 0) commands.Add(["SELECT", options.Database.ToString(CultureInfo.InvariantCulture)]);

        var text = new StringBuilder();
        foreach (string[] command in commands)
        {
            text.Append(CultureInfo.InvariantCulture, $"*{command.Length}\r\n");
            foreach (string word in command) text.Append(CultureInfo.InvariantCulture, $"${Encoding.UTF8.GetByteCount(word)}\r\n{word}\r\n");
        }

        return (Encoding.UTF8.GetBytes(text.ToString()), commands.Count);
    }
}
