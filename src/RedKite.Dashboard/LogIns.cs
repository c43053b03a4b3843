using System.Security.Cryptography;
using System.Text;
using System.Text.Json;
using Microsoft.AspNetCore.Http;
using RedKite.Server;

namespace RedKite.Dashboard;

/// <summary>Who may use the dashboard of a server that has a password: sessions, and limits on tries.</summary>
/// <param name="server">Null: there is no password.</param>
internal sealed class LogIns(RedKiteServer? server)
{
    internal const int TriesPerMinute = 5;

    private const string CookiePrefix = "redkite-session-";
    private const int SessionsMax = 100;
    private const int BasicCharactersMax = 1024;
    private const int AddressesMax = 10_000;
    private static readonly TimeSpan Lifetime = TimeSpan.FromHours(12);

    private readonly Lock _lock = new();
    private readonly Dictionary<string, (DateTime Ends, string Password)> _sessions = [];
    private readonly Dictionary<string, (DateTime Begun, int Count)> _tries = [];

    internal bool IsNeeded => Password.Length > 0;

    // One character per byte.
    private string Password => server?.Engine.Settings.RequirePass ?? "";

    // Cookies do not know ports: two servers on one machine must not end each other's sessions.
    private static string CookieName(HttpContext http) => CookiePrefix + http.Connection.LocalPort;

    /// <summary>Whether the request may be answered: no password, or a session that began with the present one.</summary>
    internal bool Allows(HttpContext http)
    {
        string password = Password;
        if (password.Length == 0) return true;
        if (http.Request.Cookies[CookieName(http)] is not { } key) return AllowsBasic(http, password);
        lock (_lock) return _sessions.TryGetValue(Hash(key), out var session) && session.Ends > DateTime.UtcNow && session.Password == password;
    }

    // Programs, such as Prometheus, send the password with every request (RFC 7617). Wrong ones count as tries.
    private bool AllowsBasic(HttpContext http, string password)
    {
        const string Scheme = "Basic ";
        string header = http.Request.Headers.Authorization.ToString();
        if (!header.StartsWith(Scheme, StringComparison.OrdinalIgnoreCase) || header.Length > BasicCharactersMax) return false;
        Span<byte> pair = stackalloc byte[BasicCharactersMax];
        if (!Convert.TryFromBase64String(header[Scheme.Length..], pair, out int length)) return false;
        int colon = pair[..length].IndexOf((byte)':');
        bool isUser = colon == 0 || (colon > 0 && pair[..colon].SequenceEqual("default"u8));
        string address = http.Connection.RemoteIpAddress?.ToString() ?? "";
        lock (_lock)
        {
            if (_tries.TryGetValue(address, out (DateTime Begun, int Count) tries) && tries.Count >= TriesPerMinute && DateTime.UtcNow - tries.Begun <= TimeSpan.FromMinutes(1)) return false;
        }

        bool isRight = CryptographicOperations.FixedTimeEquals(SHA256.HashData(pair[(colon + 1)..length]), SHA256.HashData(Encoding.Latin1.GetBytes(password)));
        if (isUser && isRight) return true;
        MayTry(address);
        return false;
    }

    internal async Task LogInAsync(HttpContext http)
    {
        if (!MayTry(http.Connection.RemoteIpAddress?.ToString() ?? ""))
        {
            http.Response.StatusCode = StatusCodes.Status429TooManyRequests;
            return;
        }

        (string user, string given) = await ReadAsync(http).ConfigureAwait(false);
        string password = Password;
        bool isRight = CryptographicOperations.FixedTimeEquals(SHA256.HashData(Encoding.UTF8.GetBytes(given)), SHA256.HashData(Encoding.Latin1.GetBytes(password)));
        if (password.Length == 0 || !isRight || user is not ("" or "default"))
        {
            http.Response.StatusCode = StatusCodes.Status401Unauthorized;
            return;
        }

        string key = RandomNumberGenerator.GetHexString(64);
        lock (_lock)
        {
            _tries.Remove(http.Connection.RemoteIpAddress?.ToString() ?? "");
            if (_sessions.Count >= SessionsMax) _sessions.Remove(_sessions.MinBy(session => session.Value.Ends).Key);
            _sessions[Hash(key)] = (DateTime.UtcNow + Lifetime, password);
        }

        http.Response.Cookies.Append(CookieName(http), key, new CookieOptions { HttpOnly = true, SameSite = SameSiteMode.Strict, Secure = http.Request.IsHttps, Path = "/" });
        http.Response.StatusCode = StatusCodes.Status204NoContent;
    }

    internal void LogOut(HttpContext http)
    {
        if (http.Request.Cookies[CookieName(http)] is { } key)
        {
            lock (_lock) _sessions.Remove(Hash(key));
        }

        http.Response.Cookies.Delete(CookieName(http));
        http.Response.StatusCode = StatusCodes.Status204NoContent;
    }

    private bool MayTry(string address)
    {
        lock (_lock)
        {
            DateTime now = DateTime.UtcNow;
            if (_tries.Count >= AddressesMax)
            {
                foreach (string old in _tries.Where(entry => now - entry.Value.Begun > TimeSpan.FromMinutes(1)).Select(entry => entry.Key).ToArray()) _tries.Remove(old);
                if (_tries.Count >= AddressesMax) return false;
            }

            (DateTime begun, int count) = _tries.GetValueOrDefault(address);
            if (now - begun > TimeSpan.FromMinutes(1)) (begun, count) = (now, 0);
            _tries[address] = (begun, count + 1);
            return count < TriesPerMinute;
        }
    }

    private static async Task<(string User, string Password)> ReadAsync(HttpContext http)
    {
        try
        {
            using JsonDocument body = await JsonDocument.ParseAsync(http.Request.Body, default, http.RequestAborted).ConfigureAwait(false);
            return (Member("user"), Member("password"));

            string Member(string name) => body.RootElement.TryGetProperty(name, out JsonElement value) && value.ValueKind == JsonValueKind.String ? value.GetString()! : "";
        }
        catch (Exception failure) when (failure is JsonException or InvalidOperationException or BadHttpRequestException)
        {
            return ("", "");
        }
    }

    private static string Hash(string key) => Convert.ToHexString(SHA256.HashData(Encoding.UTF8.GetBytes(key)));
}
