using System.Globalization;
using System.Runtime.InteropServices;
using System.Text;

namespace RedKite.Store.Keyspace;

/// <summary>A report on a failure that ends the process. It contains no keys and no values.</summary>
internal sealed class CrashReport
{
    internal CrashReport(Exception failure, StripeSet held, string? command, string text)
    {
        Failure = failure;
        Held = held;
        Command = command;
        Text = text;
    }

    internal Exception Failure { get; }

    /// <summary>The stripes that the failing thread had locked.</summary>
    internal StripeSet Held { get; }

    /// <summary>The command that failed, or other work of the thread.</summary>
    internal string? Command { get; }

    internal string Text { get; }

    /// <summary>The file that has the text; null: it could not be written.</summary>
    internal string? Path { get; private set; }

    /// <summary>Describes a failure. Called on the failing stack before it is unwound.</summary>
    internal static CrashReport Of(Exception failure, StripeSet held, string? command, string version)
    {
        string text = string.Create(CultureInfo.InvariantCulture, $"""
            RedKite {version} has stopped: an exception escaped while keys were locked, so they may be half changed.

            time:       {DateTimeOffset.UtcNow:yyyy-MM-dd HH:mm:ss.fff} UTC
            process:    {Environment.ProcessId}, thread {Thread.CurrentThread.Name ?? Environment.CurrentManagedThreadId.ToString(CultureInfo.InvariantCulture)}
            runtime:    {RuntimeInformation.FrameworkDescription}, {RuntimeInformation.RuntimeIdentifier}
            command:    {command ?? "unknown"}
            stripes:    {(held.IsEmpty ? "none" : held)}

            exception:
            {failure}

            stack:
            {Environment.StackTrace}

            """);
        return new CrashReport(failure, held, command, text);
    }

    /// <summary>Writes the text to a new file of a folder, or of the system's folder for temporary files if that fails.</summary>
    internal void Write(string folder)
    {
        string name = string.Create(CultureInfo.InvariantCulture, $"redkite-crash-{DateTime.UtcNow:yyyyMMdd-HHmmss}-{Environment.ProcessId}.txt");
        if (!TryWrite(System.IO.Path.Combine(folder, name))) TryWrite(System.IO.Path.Combine(System.IO.Path.GetTempPath(), name));
    }

    private bool TryWrite(string path)
    {
        try
        {
            File.WriteAllText(path, Text, Encoding.UTF8);
            Path = path;
            return true;
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException)
        {
            return false;
        }
    }
}
