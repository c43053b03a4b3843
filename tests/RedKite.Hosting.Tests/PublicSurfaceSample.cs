namespace RedKite.Hosting.Tests;

/// <summary>One of each kind of member, for the test of the lines.</summary>
public sealed class PublicSurfaceSample(int port)
{
    public const int Constant = 7;

    public event EventHandler? Changed;

    public int? Port { get; set; } = port;

    public string this[string key] => key;

    public static Task Run() => Task.CompletedTask;

    public IReadOnlyList<T> Find<T>(string name, T? other = null) where T : class
    {
        Changed?.Invoke(this, EventArgs.Empty);
        return name.Length == 0 || other is null ? [] : [other];
    }

    internal void Hidden() => Changed?.Invoke(this, EventArgs.Empty);
}
